"""Histograms of L2 distances between words (Efimov et al. 2022, Figures 1 and 2)."""

import string
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mbert_atlas.analysis.separation import Floats, separation
from mbert_atlas.cells import Cell
from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.style import (
    BLUE,
    FULL_WIDTH,
    VERMILION,
    figure_style,
    panel_grid,
    require_columns,
)
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import WORD_DISTANCES

_NAME = "histogram of distances"
_KINDS = {"related": (BLUE, "-"), "unrelated": (VERMILION, "--")}
_Samples = list[tuple[Floats, Floats]]
"""Distances of related and of unrelated pairs, by seed."""


def read_distances(cells: Iterable[Cell], protocol: str) -> pd.DataFrame:
    """Return distances under a protocol: columns panel, language, seed, kind and distance.

    Each cell is the Parquet file of a language and seed, columns ``schemas.WORD_DISTANCES``.
    """
    frames = []
    for cell in cells:
        frame: pd.DataFrame = read_parquet(Path(cell.path), WORD_DISTANCES).to_pandas()
        frame = frame[[protocol in protocols for protocols in frame.pop("protocols")]]
        frames.append(frame.assign(seed=cell.seed, language=cell.language))
    return pd.concat(frames)


def distance_histograms(frame: pd.DataFrame, *, title: str, panels: Mapping[str, str]) -> Figure:
    """Draw one histogram per panel, two in a row, all on the same bins and axes (Figure 1).

    Each line is the mean over seeds of the percentage of pairs per bin, each band runs from the
    lowest to the highest seed, each dotted line marks the mean distance. The numbers in a panel
    are the separation AUC and the ratio of mean distances: mean over seeds, then their range.

    Args:
        frame: columns ``panel``, ``seed``, ``kind`` (``related`` or ``unrelated``) and
            ``distance`` (float, L2); one row per word pair.
        title: goes above the figure.
        panels: name in ``frame`` and title of the panels, in their order.

    Raises:
        AtlasError: if columns or panels are missing, or a distance is not finite.
    """
    require_columns(frame, ("panel", "seed", "kind", "distance"), _NAME)
    samples = _samples(frame, panels)
    pooled = [values for seeds in samples.values() for pair in seeds for values in pair]
    low, high = min(values.min() for values in pooled), max(values.max() for values in pooled)
    bins = min(80, round(3 * min(map(len, pooled)) ** (1 / 3)))
    width = (high - low) / bins or 1.0
    # A further bin at both ends, empty, shows that nothing is cut off.
    edges = np.linspace(low - width, high + width, bins + 3)
    titles = [
        f"({letter}) {text}"
        for letter, text in zip(string.ascii_lowercase, panels.values(), strict=False)
    ]
    labels = ("L2 distance", "word pairs (%)")
    with figure_style():
        columns = min(2, len(panels))
        figure, drawn = panel_grid(titles, columns, (0.75, 2.2), True, labels, title)
        for axes, panel in zip(drawn, panels, strict=True):
            _draw_panel(axes, samples[panel], edges)
        _make_room(drawn[0], 1.28)
        _write_legend(figure, drawn[0])
    return figure


def distance_grid(
    frame: pd.DataFrame,
    *,
    title: str,
    languages: Mapping[str, str],
    panels: Mapping[str, str],
) -> Figure:
    """Draw small histograms, a column per language and a row per panel (Figure 2).

    Marks are those of :func:`distance_histograms`; all histograms share their bins and, within a
    row, their height. The numbers are the separation AUC and the ratio of mean distances, means
    over seeds.

    Args:
        frame: as for :func:`distance_histograms`, with a column ``language`` (code).
        title: goes above the figure.
        languages: code and name of the columns, in their order.
        panels: name in ``frame`` and title of the rows, in their order.

    Raises:
        AtlasError: as :func:`distance_histograms`.
    """
    require_columns(frame, ("language", "panel", "seed", "kind", "distance"), _NAME)
    samples = {code: _samples(frame[frame["language"] == code], panels) for code in languages}
    low, high = float(frame["distance"].min()), float(frame["distance"].max())
    edges = np.linspace(low, high, 51)
    with figure_style():
        figure = Figure(figsize=(FULL_WIDTH, 1.1 + 1.05 * len(panels)), layout="constrained")
        shape = len(panels), len(languages)
        grid = figure.subplots(*shape, sharex=True, sharey="row", squeeze=False)
        for row, (panel, text) in zip(grid, panels.items(), strict=True):
            for axes, code in zip(row, languages, strict=True):
                _draw_panel(axes, samples[code][panel], edges, small=True)
                axes.set_yticks([])
            row[0].set_ylabel(text, rotation=0, ha="right", va="center", fontsize=8)
            _make_room(row[0], 1.45)
        for axes, name in zip(grid[0], languages.values(), strict=True):
            axes.set_title(name)
        for axes in grid[-1]:
            axes.set_xlabel("L2 distance")
        figure.suptitle(title, x=0.01, ha="left")
        _write_legend(figure, grid[0, 0])
    return figure


def _samples(frame: pd.DataFrame, panels: Iterable[str]) -> dict[str, _Samples]:
    """Return the distances of each panel."""
    if not np.isfinite(frame["distance"].to_numpy(dtype=np.float64)).all():
        raise AtlasError(f"{_NAME}: a distance is not finite; check the vectors that it is from.")
    samples: dict[str, _Samples] = {panel: [] for panel in panels}
    for (panel, _), pairs in frame.groupby(["panel", "seed"], sort=False):
        if panel in samples:
            of_kind = dict(iter(pairs.groupby("kind")["distance"]))
            related, unrelated = (of_kind[kind].to_numpy(np.float64) for kind in _KINDS)
            samples[panel].append((related, unrelated))
    if absent := [panel for panel, seeds in samples.items() if not seeds]:
        there = ", ".join(sorted(set(frame["panel"])))
        raise AtlasError(
            f"{_NAME}: no distances for panel {', '.join(absent)} (there are {there}); measure "
            "them first or leave the panel out."
        )
    return samples


def _draw_panel(axes: Axes, seeds: _Samples, edges: Floats, *, small: bool = False) -> None:
    for index, (kind, (colour, line)) in enumerate(_KINDS.items()):
        shares = np.stack(
            [100 * np.histogram(pair[index], edges)[0] / len(pair[index]) for pair in seeds]
        )
        mean = shares.mean(axis=0)
        axes.stairs(mean, edges, color=colour, fill=True, alpha=0.15)
        axes.stairs(mean, edges, color=colour, linestyle=line, linewidth=1.3, label=kind)
        if len(seeds) > 1:
            band = {"baseline": shares.min(axis=0), "fill": True, "color": colour, "alpha": 0.35}
            text = f"{kind}, range of {len(seeds)} seeds"
            axes.stairs(shares.max(axis=0), edges, label=text, **band)
        average = float(np.mean([pair[index].mean() for pair in seeds]))
        axes.axvline(average, ymax=0.78, color=colour, linestyle=":", linewidth=1.1)
    names = ("AUC", "ratio" if small else "mean ratio")
    numbers = [separation(*pair) for pair in seeds]
    lines = []
    for name, values in zip(names, zip(*numbers, strict=True), strict=True):
        spread = "" if small or len(seeds) == 1 else f" ({min(values):.3f}–{max(values):.3f})"
        lines.append(f"{name} {np.mean(values):.3f}{spread}")
    corner = axes.text(0.98, 0.96, "\n".join(lines), transform=axes.transAxes, ha="right", va="top")
    corner.set_fontsize(7 if small else 8)
    axes.margins(x=0)


def _make_room(axes: Axes, factor: float) -> None:
    """Extend the vertical axis, so that the numbers fit above the histogram."""
    axes.set_ylim(0, axes.get_ylim()[1] * factor)


def _write_legend(figure: Figure, axes: Axes) -> None:
    """Write a legend of what ``axes`` shows."""
    handles, labels = axes.get_legend_handles_labels()
    handles.append(Line2D([], [], color="#444444", linestyle=":", linewidth=1.1))
    labels.append("mean")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)

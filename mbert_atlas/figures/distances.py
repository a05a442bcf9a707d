"""Histograms of L2 distances between words (Efimov et al. 2022, Figures 1 and 2)."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mbert_atlas.analysis.separation import Floats, separation
from mbert_atlas.cells import Cell
from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.style import BLUE, FULL_WIDTH, VERMILION, figure_style, require_columns
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import WORD_DISTANCES

_NAME = "histogram of distances"
_KINDS = {"related": (BLUE, "-"), "unrelated": (VERMILION, "--")}
_Samples = list[tuple[Floats, Floats]]
"""Distances of related and of unrelated pairs, by seed."""


def read_distances(cells: Iterable[Cell], protocol: str) -> pd.DataFrame:
    """Read the distances under one protocol.

    Args:
        cells: Parquet files of a language and seed each, columns
            :data:`mbert_atlas.schemas.WORD_DISTANCES`.
        protocol: published or corrected.

    Returns:
        Columns ``panel``, ``language``, ``seed``, ``kind`` and ``distance``.
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
        AtlasError: if columns or panels are missing, a distance is negative or not finite, or a
            panel lacks related or unrelated pairs for one of its seeds.
    """
    require_columns(frame, ("panel", "seed", "kind", "distance"), _NAME)
    samples = _samples(frame, list(panels))
    pooled = [values for seeds in samples.values() for pair in seeds for values in pair]
    low, high = min(values.min() for values in pooled), max(values.max() for values in pooled)
    bins = min(80, round(3 * min(map(len, pooled)) ** (1 / 3)))
    width = (high - low) / bins or 1.0
    # A further bin at both ends, empty, shows that nothing is cut off.
    edges = np.linspace(low - width, high + width, bins + 3)
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    with figure_style():
        figure = Figure(figsize=(FULL_WIDTH, 0.75 + 2.2 * rows), layout="constrained")
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        drawn = list(grid.flat)[: len(panels)]
        for letter, axes, (panel, text) in zip(
            string.ascii_lowercase, drawn, panels.items(), strict=False
        ):
            _draw_panel(axes, samples[panel], edges)
            axes.set_title(f"({letter}) {text}")
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_axis_off()
        for axes in drawn[-columns:]:
            axes.set_xlabel("L2 distance")
            axes.tick_params(labelbottom=True)
        for axes in grid[:, 0]:
            axes.set_ylabel("word pairs (%)")
        _make_room(drawn[0], 1.28)
        _finish(figure, title, drawn[0])
    return figure


def distance_grid(
    frame: pd.DataFrame,
    *,
    title: str,
    languages: Mapping[str, str],
    panels: Mapping[str, str],
    bins: int = 50,
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
        bins: number of bins between the smallest and the largest distance.

    Raises:
        AtlasError: as :func:`distance_histograms`.
    """
    require_columns(frame, ("language", "panel", "seed", "kind", "distance"), _NAME)
    samples = {code: _samples(frame[frame["language"] == code], list(panels)) for code in languages}
    low, high = float(frame["distance"].min()), float(frame["distance"].max())
    edges = np.linspace(low, high, bins + 1)
    with figure_style():
        figure = Figure(figsize=(FULL_WIDTH, 1.1 + 1.05 * len(panels)), layout="constrained")
        grid = figure.subplots(
            len(panels), len(languages), sharex=True, sharey="row", squeeze=False
        )
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
        _finish(figure, title, grid[0, 0])
    return figure


def _samples(frame: pd.DataFrame, panels: Sequence[str]) -> dict[str, _Samples]:
    """Return the distances of each panel."""
    distances = frame["distance"].to_numpy(dtype=np.float64)
    usable = np.isfinite(distances) & (distances >= 0)
    if not usable.all():
        raise AtlasError(
            f"{_NAME}: {int((~usable).sum())} distances are negative or not finite; check the "
            "vectors that they come from."
        )
    groups: dict[Any, Any] = dict(frame.groupby(["panel", "seed", "kind"], sort=False).indices)
    if unknown := {kind for *_, kind in groups} - set(_KINDS):
        raise AtlasError(
            f"{_NAME}: unknown kind {', '.join(sorted(unknown))}; use related or unrelated."
        )
    existing = {str(panel) for panel, *_ in groups}
    if absent := [panel for panel in panels if panel not in existing]:
        raise AtlasError(
            f"{_NAME}: no distances for panel {', '.join(absent)} (there are "
            f"{', '.join(sorted(existing))}); measure them first or leave the panel out."
        )
    samples: dict[str, _Samples] = {panel: [] for panel in panels}
    for panel, seed in dict.fromkeys(key[:2] for key in groups):
        if panel not in samples:
            continue
        for kind in _KINDS:
            if (panel, seed, kind) not in groups:
                raise AtlasError(
                    f"{_NAME}: panel {panel}, seed {seed} has no {kind} pairs; "
                    "sample both kinds for every model."
                )
        related, unrelated = (distances[groups[panel, seed, kind]] for kind in _KINDS)
        samples[panel].append((related, unrelated))
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
    numbers = [separation(*pair) for pair in seeds]
    lines = []
    for name, values in (
        ("AUC", [number.auc for number in numbers]),
        ("ratio" if small else "mean ratio", [number.ratio for number in numbers]),
    ):
        spread = "" if small or len(seeds) == 1 else f" ({min(values):.3f}–{max(values):.3f})"
        lines.append(f"{name} {np.mean(values):.3f}{spread}")
    corner = axes.text(0.98, 0.96, "\n".join(lines), transform=axes.transAxes, ha="right", va="top")
    corner.set_fontsize(7 if small else 8)
    axes.margins(x=0)


def _make_room(axes: Axes, factor: float) -> None:
    """Extend the vertical axis, so that the numbers fit above the histogram."""
    axes.set_ylim(0, axes.get_ylim()[1] * factor)


def _finish(figure: Figure, title: str, axes: Axes) -> None:
    """Add the title and a legend of what ``axes`` shows."""
    figure.suptitle(title, x=0.01, ha="left")
    handles, labels = axes.get_legend_handles_labels()
    handles.append(Line2D([], [], color="#444444", linestyle=":", linewidth=1.1))
    labels.append("mean")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)

"""Histograms of L2 distances between words (Efimov et al. 2022, Figures 1 and 2)."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
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
    house_style,
    require_columns,
)
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import WORD_DISTANCES

_NAME = "histogram of distances"
_KINDS = {"related": (BLUE, "-"), "unrelated": (VERMILION, "--")}


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


def panel_titles(panels: Iterable[str]) -> dict[str, str]:
    """Return readable titles: ``adjusted_continual-nli`` is ``adjusted, then continual NLI``."""
    tasks = {"nli": "NLI", "ner": "NER", "qa": "QA"}
    return {
        panel: ", then ".join(
            " ".join(tasks.get(word, word) for word in part.split("-")) for part in panel.split("_")
        )
        for panel in panels
    }


def distance_histograms(
    frame: pd.DataFrame,
    *,
    title: str,
    panels: Sequence[str] | None = None,
    columns: int = 2,
    bins: int | None = None,
) -> Figure:
    """Draw one histogram per panel, all on the same bins and axes.

    Each line is the mean over seeds of the share of pairs per bin, each band runs from the
    lowest to the highest seed, each dotted line marks the mean distance. The numbers in a panel
    are the separation AUC and the ratio of mean distances: mean over seeds, then their range.

    Args:
        frame: columns ``panel`` (str), ``seed``, ``kind`` (``related`` or ``unrelated``) and
            ``distance`` (float, L2); one row per word pair.
        title: goes above the figure; language, layer and protocol belong here.
        panels: which panels, in which order; by default all, in the order of the rows.
        columns: panels per row.
        bins: number of bins between the smallest and the largest distance of all panels; by
            default three times the cube root of the smallest sample, at most 80.

    Raises:
        AtlasError: if columns or panels are missing, a distance is negative or not finite, or a
            panel lacks related or unrelated pairs for one of its seeds.
    """
    require_columns(frame, ("panel", "seed", "kind", "distance"), _NAME)
    samples = _samples(frame, panels)
    pooled = [values for seeds in samples.values() for pair in seeds for values in pair]
    low = min(float(values.min()) for values in pooled)
    high = max(float(values.max()) for values in pooled)
    if bins is None:
        bins = min(80, round(3 * min(map(len, pooled)) ** (1 / 3)))
    width = (high - low) / bins or 1.0
    # A further bin at both ends, empty, shows that nothing is cut off.
    edges = np.linspace(low - width, high + width, bins + 3)
    columns = min(columns, len(samples))
    rows = -(-len(samples) // columns)
    with house_style():
        figure = Figure(figsize=(FULL_WIDTH, 0.75 + 2.2 * rows), layout="constrained")
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for index, (axes, (panel, seeds)) in enumerate(
            zip(grid.flat, samples.items(), strict=False)
        ):
            _draw_panel(axes, seeds, edges)
            axes.set_title(f"({string.ascii_lowercase[index]}) {panel}")
        for axes in grid.flat[len(samples) :]:
            axes.set_axis_off()
        for axes in grid.flat[max(0, len(samples) - columns) : len(samples)]:
            axes.set_xlabel("L2 distance")
            axes.tick_params(labelbottom=True)
        for axes in grid[:, 0]:
            axes.set_ylabel("share of pairs (%)")
        grid.flat[0].set_ylim(0, grid.flat[0].get_ylim()[1] * 1.28)  # room for the numbers
        _explain(figure, title, grid.flat[0])
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
        panels: name in ``frame`` and text of the rows, in their order.
        bins: number of bins between the smallest and the largest distance.

    Raises:
        AtlasError: as :func:`distance_histograms`.
    """
    require_columns(frame, ("language", "panel", "seed", "kind", "distance"), _NAME)
    samples = {code: _samples(frame[frame["language"] == code], list(panels)) for code in languages}
    low, high = float(frame["distance"].min()), float(frame["distance"].max())
    edges = np.linspace(low, high, bins + 1)
    with house_style():
        figure = Figure(figsize=(FULL_WIDTH, 1.1 + 1.05 * len(panels)), layout="constrained")
        grid = figure.subplots(
            len(panels), len(languages), sharex=True, sharey="row", squeeze=False
        )
        for row, (panel, text) in zip(grid, panels.items(), strict=True):
            for axes, code in zip(row, languages, strict=True):
                _draw_panel(axes, samples[code][panel], edges, ranges=False)
                axes.set_yticks([])
            row[0].set_ylabel(text, rotation=0, ha="right", va="center", fontsize=8)
            row[0].set_ylim(0, row[0].get_ylim()[1] * 1.45)  # room for the numbers
        for axes, name in zip(grid[0], languages.values(), strict=True):
            axes.set_title(name)
        for axes in grid[-1]:
            axes.set_xlabel("L2 distance")
        _explain(figure, title, grid.flat[0])
    return figure


def _samples(
    frame: pd.DataFrame, panels: Sequence[str] | None
) -> dict[str, list[tuple[Floats, Floats]]]:
    """Return for each panel one pair (related, unrelated) of arrays per seed."""
    distances = frame["distance"].to_numpy(dtype=np.float64)
    if not np.isfinite(distances).all() or (distances < 0).any():
        raise AtlasError(
            f"{_NAME}: {int((~(distances >= 0) | np.isinf(distances)).sum())} distances are "
            "negative or not finite; check the vectors that they come from."
        )
    strange = sorted(set(frame["kind"].unique()) - set(_KINDS))
    if strange:
        raise AtlasError(
            f"{_NAME}: unknown kind {', '.join(map(str, strange))}; use related or unrelated."
        )
    groups = cast(
        dict[tuple[Any, Any, str], npt.NDArray[np.intp]],
        frame.groupby(["panel", "seed", "kind"], sort=False, dropna=False).indices,
    )
    found = list(dict.fromkeys(str(panel) for panel, _, _ in groups))
    absent = [panel for panel in panels or () if panel not in found]
    if absent:
        raise AtlasError(
            f"{_NAME}: no distances for panel {', '.join(absent)} (found {', '.join(found)}); "
            "make them first or leave the panel out."
        )
    samples: dict[str, list[tuple[Floats, Floats]]] = {}
    for panel in panels or found:
        seeds = dict.fromkeys(seed for name, seed, _ in groups if str(name) == panel)
        samples[panel] = []
        for seed in seeds:
            pair = []
            for kind in _KINDS:
                rows = groups.get((panel, seed, kind))
                if rows is None:
                    raise AtlasError(
                        f"{_NAME}: panel {panel}, seed {seed} has no {kind} pairs; "
                        "sample both kinds for every model."
                    )
                pair.append(distances[rows])
            samples[panel].append((pair[0], pair[1]))
    return samples


def _draw_panel(
    axes: Axes, seeds: list[tuple[Floats, Floats]], edges: Floats, *, ranges: bool = True
) -> None:
    for index, (kind, (colour, line)) in enumerate(_KINDS.items()):
        shares = np.stack(
            [100 * np.histogram(pair[index], edges)[0] / len(pair[index]) for pair in seeds]
        )
        mean = shares.mean(axis=0)
        axes.stairs(mean, edges, color=colour, fill=True, alpha=0.15)
        axes.stairs(mean, edges, color=colour, linestyle=line, linewidth=1.3, label=kind)
        if len(seeds) > 1:
            axes.stairs(
                shares.max(axis=0),
                edges,
                baseline=shares.min(axis=0),
                fill=True,
                color=colour,
                alpha=0.35,
                label=f"{kind}, range of {len(seeds)} seeds",
            )
        average = float(np.mean([pair[index].mean() for pair in seeds]))
        axes.axvline(average, ymax=0.78, color=colour, linestyle=":", linewidth=1.1)
    numbers = [separation(*pair) for pair in seeds]
    texts = [
        _with_range(name, [getattr(number, field) for number in numbers], ranges)
        for name, field in (("AUC", "auc"), ("mean ratio" if ranges else "ratio", "ratio"))
    ]
    axes.text(
        0.98,
        0.96,
        "\n".join(texts),
        transform=axes.transAxes,
        ha="right",
        va="top",
        fontsize=8 if ranges else 7,
    )
    axes.margins(x=0)


def _explain(figure: Figure, title: str, axes: Axes) -> None:
    """Add the title and a legend of what ``axes`` shows."""
    figure.suptitle(title, x=0.01, ha="left")
    handles, labels = axes.get_legend_handles_labels()
    handles.append(Line2D([], [], color="#444444", linestyle=":", linewidth=1.1))
    labels.append("mean")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)


def _with_range(name: str, values: list[float], ranges: bool) -> str:
    text = f"{name} {np.mean(values):.3f}"
    return (
        text if len(values) == 1 or not ranges else f"{text} ({min(values):.3f}–{max(values):.3f})"
    )

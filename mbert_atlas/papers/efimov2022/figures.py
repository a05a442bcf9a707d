"""Figures 1 and 2: histograms of L2 distances between words."""

import string
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from mbert_atlas.analysis.separation import Floats, separation
from mbert_atlas.cells import Cell
from mbert_atlas.figures.style import BLUE, FULL_WIDTH, VERMILION, figure_style, panel_grid
from mbert_atlas.files import read_parquet
from mbert_atlas.labels import label
from mbert_atlas.schemas import WORD_DISTANCES

_KINDS = {"related": (BLUE, "-"), "unrelated": (VERMILION, "--")}
_Samples = list[tuple[Floats, Floats]]
"""Distances of related and of unrelated pairs, by seed."""


def draw_distances(
    cells: Sequence[Cell], panels: Sequence[str], names: Mapping[str, str], protocol: str
) -> Figure:
    """Draw Figure 1: a histogram per model of one language, all on the same bins and axes.

    Each line is the mean over seeds of the percentage of pairs per bin, each band runs from the
    lowest to the highest seed, each dotted line marks the mean distance. The numbers in a panel
    are the separation AUC and the ratio of mean distances: mean over seeds, then their range.
    Each cell is the Parquet file of a language and seed, columns ``schemas.WORD_DISTANCES``.
    """
    ((language, samples),) = _read_samples(cells, panels, protocol).items()
    low, high, fewest = _extent(samples.values())
    bins = min(80, round(3 * fewest ** (1 / 3)))
    width = (high - low) / bins or 1.0
    # A further bin at both ends, empty, shows that nothing is cut off.
    edges = np.linspace(low - width, high + width, bins + 3)
    titles = [f"({string.ascii_lowercase[n]}) {panel_title(name)}" for n, name in enumerate(panels)]
    title = f"{names[language]} and English, last layer, {protocol}"
    labels = ("L2 distance", "word pairs (%)")
    with figure_style():
        columns = min(2, len(panels))
        figure, drawn = panel_grid(titles, columns, (0.75, 2.2), True, labels, title)
        for axes, panel in zip(drawn, panels, strict=True):
            _draw_panel(axes, samples[panel], edges)
        drawn[0].set_ylim(0, 1.28 * drawn[0].get_ylim()[1])  # room for the numbers
        _write_legend(figure, drawn[0])
        figure.set_label(_said(samples.values()))
    return figure


def draw_distance_grid(
    cells: Sequence[Cell], panels: Sequence[str], names: Mapping[str, str], protocol: str
) -> Figure:
    """Draw Figure 2: small histograms, a column per language and a row per model.

    Arguments and marks are those of :func:`draw_distances`; all histograms share their bins and,
    within a row, their height. The numbers are means over seeds.
    """
    samples = _read_samples(cells, panels, protocol)
    every = [seeds for by_panel in samples.values() for seeds in by_panel.values()]
    low, high, _ = _extent(every)
    edges = np.linspace(low, high, 51)
    with figure_style():
        figure = Figure(figsize=(FULL_WIDTH, 1.1 + 1.05 * len(panels)), layout="constrained")
        shape = len(panels), len(samples)
        grid = figure.subplots(*shape, sharex=True, sharey="row", squeeze=False)
        for row, panel in zip(grid, panels, strict=True):
            for axes, by_panel in zip(row, samples.values(), strict=True):
                _draw_panel(axes, by_panel[panel], edges, small=True)
                axes.yaxis.set_major_locator(MaxNLocator(2))
                axes.tick_params(axis="y", labelsize=7, pad=1)
            text = panel_title(panel, ",\nthen ")
            row[0].set_ylabel(text, rotation=0, ha="right", va="center", fontsize=8)
            row[0].set_ylim(0, 1.45 * row[0].get_ylim()[1])  # room for the numbers
        for axes, code in zip(grid[0], samples, strict=True):
            axes.set_title(names[code])
        for axes in grid[-1]:
            axes.set_xlabel("L2 distance")
        title = f"Words of each language and English, last layer, {protocol}"
        figure.suptitle(title, x=0.01, ha="left")
        figure.supylabel("word pairs (%)", fontsize=9)
        _write_legend(figure, grid[0, 0])
        figure.set_label(_said(every))
    return figure


def panel_title(panel: str, then: str = ", then ") -> str:
    """Return ``adjusted, then continual NLI`` for ``adjusted_continual-nli``."""
    return then.join(map(label, panel.split("_")))


def _read_samples(
    cells: Sequence[Cell], panels: Sequence[str], protocol: str
) -> dict[str, dict[str, _Samples]]:
    """Return the distances under one protocol by language and panel."""
    samples = {cell.language: {panel: _Samples() for panel in panels} for cell in cells}
    for cell in cells:
        frame: pd.DataFrame = read_parquet(Path(cell.path), WORD_DISTANCES).to_pandas()
        frame = frame[[protocol in protocols for protocols in frame["protocols"]]]
        for panel in set(panels) & {*frame["panel"]}:
            pairs = frame[frame["panel"] == panel].groupby("kind")["distance"]
            related, unrelated = (pairs.get_group(kind).to_numpy(np.float64) for kind in _KINDS)
            samples[cell.language][panel].append((related, unrelated))
    return samples


def _extent(panels: Collection[_Samples]) -> tuple[float, float, int]:
    """Return the smallest and the largest distance, and the number of pairs where that is least."""
    pooled = [values for seeds in panels for pair in seeds for values in pair]
    low, high = min(values.min() for values in pooled), max(values.max() for values in pooled)
    return float(low), float(high), min(map(len, pooled))


def _said(panels: Collection[_Samples]) -> str:
    """Return n, seeds and what bands are, for a caption."""
    pairs = sorted({len(values) for seeds in panels for pair in seeds for values in pair})
    numbers = sorted({len(seeds) for seeds in panels})
    seeds = "One seed a model: no interval can be given."
    if numbers[-1] > 1:
        seeds = (
            f"{' or '.join(map(str, numbers))} seeds a model; lines and numbers are means over "
            "seeds, bands and brackets the range of seeds, and without a band there is one seed; "
            "there is no interval over word pairs."
        )
    return (
        f"n = {' or '.join(f'{number:,}' for number in pairs)} word pairs of each kind in a "
        f"histogram. {seeds}"
    )


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


def _write_legend(figure: Figure, axes: Axes) -> None:
    """Write a legend of what ``axes`` shows."""
    handles, labels = axes.get_legend_handles_labels()
    handles.append(Line2D([], [], color="#444444", linestyle=":", linewidth=1.1))
    labels.append("mean")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)

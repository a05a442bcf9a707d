"""Figures 1 and 2: histograms of word pair distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from mbert_atlas.cells import Cell
from mbert_atlas.figures.distances import (
    distance_grid,
    distance_histograms,
    panel_titles,
    read_distances,
)


def draw_distances(
    cells: Sequence[Cell], panels: Sequence[str], names: Mapping[str, str], protocol: str
) -> Figure:
    """Draw Figure 1: the models of one language, a panel each."""
    titles = panel_titles(panels)
    distances = read_distances(cells, protocol)
    return distance_histograms(
        distances.assign(panel=distances["panel"].map(titles)),
        title=f"{names[cells[0].language]} and English, last layer, {protocol}",
        panels=list(titles.values()),
    )


def draw_distance_grid(
    cells: Sequence[Cell], panels: Sequence[str], names: Mapping[str, str], protocol: str
) -> Figure:
    """Draw Figure 2: every language and model, small."""
    titles = panel_titles(panels)
    return distance_grid(
        read_distances(cells, protocol),
        title=f"Words of each language and English, last layer, {protocol}",
        languages={cell.language: names[cell.language] for cell in cells},
        panels={panel: text.replace(", then ", ",\nthen ") for panel, text in titles.items()},
    )

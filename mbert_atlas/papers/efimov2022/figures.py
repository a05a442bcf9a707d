"""Figures 1 and 2: histograms of word pair distances."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from mbert_atlas.cells import Cell
from mbert_atlas.figures.distances import distance_grid, distance_histograms, read_distances

_TASKS = {"nli": "NLI", "ner": "NER", "qa": "QA"}


def draw_distances(
    cells: Sequence[Cell], panels: Sequence[str], names: Mapping[str, str], protocol: str
) -> Figure:
    """Draw Figure 1: the models of one language, a panel each."""
    return distance_histograms(
        read_distances(cells, protocol),
        title=f"{names[cells[0].language]} and English, last layer, {protocol}",
        panels={panel: panel_title(panel) for panel in panels},
    )


def draw_distance_grid(
    cells: Sequence[Cell], panels: Sequence[str], names: Mapping[str, str], protocol: str
) -> Figure:
    """Draw Figure 2: every language and model, small."""
    return distance_grid(
        read_distances(cells, protocol),
        title=f"Words of each language and English, last layer, {protocol}",
        languages={cell.language: names[cell.language] for cell in cells},
        panels={panel: panel_title(panel, ",\nthen ") for panel in panels},
    )


def panel_title(panel: str, then: str = ", then ") -> str:
    """Return ``adjusted, then continual NLI`` for ``adjusted_continual-nli``."""
    steps = [step.split("-") for step in panel.split("_")]
    return then.join(" ".join(_TASKS.get(word, word) for word in words) for words in steps)

"""Figures 3 to 6: t-SNE maps of a task's labels, its languages, and Wikipedia's languages."""

import string
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mbert_atlas.analysis.measurements import read_measurements
from mbert_atlas.cells import Cell
from mbert_atlas.errors import AtlasError
from mbert_atlas.figures import style
from mbert_atlas.figures.projection import (
    Floats,
    Look,
    class_looks,
    language_looks,
    map_classes,
    write_legend,
)
from mbert_atlas.figures.reported import (
    NOT_COMPARABLE,
    REPORTED,
    Reported,
    reported_note,
    with_reported,
)
from mbert_atlas.figures.uncertainty import describe, with_intervals
from mbert_atlas.files import read_json, read_parquet
from mbert_atlas.labels import label
from mbert_atlas.schemas import PROJECTION

# Inches. Nothing here depends on the data, so the places need no layout engine.
_PANEL, _LEGEND, _GAP, _HEAD, _TITLE, _FOOT = 3.9, 2.1, 0.15, 0.3, 0.6, 0.3

_TAGS = {
    "NOUN": ("open class", style.VERMILION, "noun"),
    "PROPN": ("open class", "#7F3C00", "proper noun"),
    "VERB": ("open class", style.ORANGE, "verb"),
    "ADJ": ("open class", style.PURPLE, "adjective"),
    "ADV": ("open class", "#A8104F", "adverb"),
    "INTJ": ("open class", "#E8837A", "interjection"),
    "ADP": ("closed class", style.BLUE, "adposition"),
    "AUX": ("closed class", "#4B2E83", "auxiliary"),
    "CCONJ": ("closed class", style.SKY, "coordinator"),
    "DET": ("closed class", style.GREEN, "determiner"),
    "NUM": ("closed class", "#5F7F00", "numeral"),
    "PART": ("closed class", "#7C77D1", "particle"),
    "PRON": ("closed class", "#0B5351", "pronoun"),
    "SCONJ": ("closed class", "#1D3A8F", "subordinator"),
    "PUNCT": ("other", style.BLACK, "punctuation"),
    "SYM": ("other", "#9C9C9C", "symbol"),
    "X": ("other", style.GREY, ""),
}
"""UPOS tags: open classes are warm, closed ones cool, the others grey."""
_NLI_LABELS = {"entailment": style.BLUE, "neutral": "#8A8A8A", "contradiction": style.VERMILION}
LABEL_LOOKS = {
    "udpos": class_looks({tag: look[:2] for tag, look in _TAGS.items()}),
    "xnli": class_looks({name: ("", colour) for name, colour in _NLI_LABELS.items()}),
}
"""Labels by task."""
_ROWS = {
    "label": ("target", "label", "{task} labels"),
    "language_target": ("target", "language", "{task} languages"),
    "language_wikipedia": ("wikipedia", "language", "Wikipedia languages"),
}
"""Rows of panels: the dataset, the column that divides it into classes, and the title."""
_SETS = {"target": "the test set", "wikipedia": "Wikipedia"}
_CLASSIFIED = {
    "macro_f1_label": "labels",
    "macro_f1_language_target": "languages,\ntest set",
    "macro_f1_language_wikipedia": "languages,\nWikipedia",
}
"""What a classifier is measured on, by metric."""
_REPORTED = {"macro_f1": "macro F1", "v_measure": "V-measure"}
_CIRCLE = "\N{WHITE CIRCLE}"
"""What the paper reports of a panel, and its mark: a panel has no axis with a place for it."""


class Condition(NamedTuple):
    """One column of panels."""

    name: str  # in the panels' titles
    points: pd.DataFrame  # columns of schemas.PROJECTION; labels of Wikipedia are null
    scores: Mapping[str, Mapping[str, str]]  # percent, by row of panels and name, if measured
    reported: Mapping[str, str] = {}  # the paper's, by row of panels
    is_comparable: bool = True  # with the paper's


def draw_maps(
    cells: Sequence[Cell],
    *,
    title: str,
    names: Mapping[str, str],
    genera: Mapping[str, str],
    intervals: pd.DataFrame | None = None,
    reported: Reported | None = None,
) -> Figure:
    """Draw a task under some conditions, see :func:`read_condition` and :func:`map_grid`."""
    first, conditions = cells[0], [read_condition(cell, intervals, reported) for cell in cells]
    note = (
        f"Protocol: {first.protocol}. Macro F1: mean over seeds"
        + (", 95% interval in brackets. " if intervals is not None else ". ")
        + f"Points, V-measure and AMI: seed {first.seed}."
    )
    if any(condition.reported for condition in conditions):
        note += f" {_CIRCLE}: {REPORTED if conditions[0].is_comparable else NOT_COMPARABLE}."
    figure = map_grid(
        conditions, title=title, task=first.task, names=names, genera=genera, note=note
    )
    figure.set_label(_said(cells, conditions, intervals, reported))
    return figure


def _said(
    cells: Sequence[Cell],
    conditions: Sequence[Condition],
    intervals: pd.DataFrame | None,
    reported: Reported | None,
) -> str:
    """Return n, seeds, intervals and whose numbers there are, for a caption."""
    counts = conditions[0].points["dataset"].value_counts()
    points = " and ".join(
        f"{counts[name]:,} of {text}" for name, text in _SETS.items() if name in counts
    )
    rows = pd.concat([_scores(cell, intervals) for cell in cells])
    note = reported_note(with_reported(rows, reported), f"{_CIRCLE} in a heading")
    rows = rows.assign(metric=rows["metric"].map(_CLASSIFIED))
    said = describe(rows, "Brackets", by="metric", of="condition", items="test items")
    text = f"Points: {points}, seed {cells[0].seed}, without an interval. Macro F1: {said}"
    return f"{text} {note}".strip()


def macro_f1(rows: pd.DataFrame) -> pd.DataFrame:
    """Return Table 1's macro F1 over all languages, from the measurements under one protocol."""
    rows = rows[(rows["target"] == "") & rows["metric"].isin(_CLASSIFIED)]
    return rows.assign(
        panel=rows["task"], line=rows["condition"], along=rows["metric"].map(_CLASSIFIED)
    )


def read_condition(
    cell: Cell, intervals: pd.DataFrame | None = None, reported: Reported | None = None
) -> Condition:
    """Read what one column of panels shows.

    The cell has the files ``points``, Parquet, columns :data:`mbert_atlas.schemas.PROJECTION`;
    ``clusters``, JSON, by row of panels and protocol ``v_measure`` and ``ami`` (0 to 1); and
    ``scores``, measurements, whose ``macro_f1_<row>`` over all languages are averaged over seeds.
    """
    rows = _scores(cell, intervals)
    pooled = rows.groupby("metric")
    clusters = read_json(cell.paths["clusters"])
    scores: dict[str, dict[str, str]] = {key: {} for key in _ROWS}
    for key, percent in scores.items():
        if (metric := f"macro_f1_{key}") in pooled.groups:
            percent["macro F1"] = _with_ends(pooled.get_group(metric))
        if agreement := clusters.get(key, {}).get(cell.protocol):
            named = {"V-measure": agreement["v_measure"], "AMI": agreement["ami"]}
            percent |= {name: f"{100 * value:.1f}%" for name, value in named.items()}
    points = read_parquet(cell.paths["points"], PROJECTION).to_pandas()
    is_comparable = reported is None or reported.is_comparable
    named = _named(rows, reported)
    return Condition(label(cell.condition), points, scores, named, is_comparable)


def _named(rows: pd.DataFrame, reported: Reported | None) -> dict[str, str]:
    """Return what the paper reports of a condition with these scores, by row of panels."""
    if reported is None:
        return {}
    texts: dict[str, list[str]] = {}
    for kind, name in _REPORTED.items():
        same = rows.assign(metric=rows["metric"].str.replace("macro_f1", kind, regex=False))
        same = with_reported(same.drop_duplicates("metric"), reported).dropna(subset="reported")
        for metric, value in zip(same["metric"], same["reported"], strict=True):
            key = metric.removeprefix(f"{kind}_")
            texts.setdefault(key, []).append(f"{name} {value:.1f}%")
    return {key: f"{_CIRCLE} {', '.join(some)}" for key, some in texts.items()}


def _scores(cell: Cell, intervals: pd.DataFrame | None) -> pd.DataFrame:
    """Return the macro F1 of a condition over all languages, by seed."""
    measured = with_intervals(read_measurements(cell.paths["scores"]), intervals)
    for column in ("condition", "task", "protocol"):
        measured = measured[measured[column] == getattr(cell, column)]
    is_shown = measured["metric"].isin([f"macro_f1_{key}" for key in _ROWS])
    return measured[is_shown & (measured["target"] == "")].dropna(subset="value")


def _with_ends(rows: pd.DataFrame) -> str:
    """Return the mean over seeds, with its interval if there is one."""
    text = f"{rows['value'].mean():.1f}%"
    if "low" not in rows or rows["low"].isna().any():
        return text
    return f"{text} [{rows['low'].iloc[0]:.1f}, {rows['high'].iloc[0]:.1f}]"


def map_grid(
    conditions: Sequence[Condition],
    *,
    title: str,
    task: str,
    names: Mapping[str, str],
    genera: Mapping[str, str],
    note: str = "",
) -> Figure:
    """Draw a column of three panels per condition: target labels, target and Wikipedia languages.

    Colour and marker of a language follow from ``genera`` (of every language code) alone, so they
    are the same in every panel and in every figure with the same genera. Without an entry in
    ``names`` the legend has the code alone; ``note`` goes below the panels. Raises AtlasError if a
    point has an unknown language or label.
    """
    of_label, of_language = LABEL_LOOKS[task], language_looks(genera, "single-language genera")
    width = _GAP + len(conditions) * (_PANEL + _GAP) + _LEGEND
    height = _HEAD + len(_ROWS) * (_TITLE + _PANEL) + _FOOT
    with style.figure_style():
        figure = Figure(figsize=(width, height))
        figure.suptitle(title, x=_GAP / width, y=1 - 0.1 / height, ha="left", va="top")
        figure.text(_GAP / width, 0.1 / height, note, ha="left", va="bottom", fontsize=8)
        for index, (key, condition) in enumerate(product(_ROWS, conditions)):
            dataset, column, row_title = _ROWS[key]
            looks = of_label if column == "label" else of_language
            axes = _add_axes(figure, *divmod(index, len(conditions)))
            map_classes(axes, *_classes(condition, dataset, column, looks), looks)
            heading = f"({string.ascii_lowercase[index]}) {row_title.format(task=task.upper())}"
            scores = condition.scores.get(key, {}).items()
            measured = ", ".join(f"{name} {text}" for name, text in scores)
            title_of = f"{heading}, {condition.name}\n{measured}"
            if text := condition.reported.get(key):  # in the line below, in another colour
                title_of += "\n"
                colour = "#222222" if condition.is_comparable else "#767676"
                look: dict[str, Any] = {"loc": "right", "x": 0, "ha": "left", "color": colour}
                axes.set_title(text, fontsize=9, **look)
            axes.set_title(title_of, fontsize=9)
        present = {code for condition in conditions for code in condition.points["language"]}
        of_present = {code: look for code, look in of_language.items() if code in present}
        legends = (
            (f"{task.upper()} labels", of_label, {tag: name for tag, (*_, name) in _TAGS.items()}),
            ("Languages, by genus", of_present, names),
        )
        for place, legend in enumerate(legends):
            axes = _add_axes(figure, place, len(conditions), _LEGEND)
            axes.set_axis_off()
            write_legend(axes, *legend)
    return figure


def _add_axes(figure: Figure, row: int, column: int, width: float = _PANEL) -> Axes:
    """Add axes in a row and column of the grid, ``width`` inches wide."""
    size = figure.get_size_inches()
    left = _GAP + column * (_PANEL + _GAP)
    bottom = size[1] - _HEAD - (row + 1) * (_TITLE + _PANEL)
    return figure.add_axes((left / size[0], bottom / size[1], width / size[0], _PANEL / size[1]))


def _classes(
    condition: Condition, dataset: str, column: str, looks: Mapping[str, Look]
) -> tuple[Floats, npt.NDArray[np.object_]]:
    """Return the points of a panel, shape (n, 2), and the class of each."""
    rows = condition.points[condition.points["dataset"] == dataset]
    points = rows[["x", "y"]].to_numpy(dtype=np.float64)
    classes = rows[column].to_numpy(dtype=object)
    if unknown := sorted({str(name) for name in classes if name not in looks}):
        problem = f"an unknown {column} ({', '.join(unknown)})"
        raise AtlasError(f"map of {condition.name}: a point has {problem}; check the projection.")
    return points, classes

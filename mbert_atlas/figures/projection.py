"""Maps of projections by label and by language (Tanti et al. 2021, Figures 2 to 6)."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from scipy.spatial.distance import cdist

from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    GROUP_COLOURS,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    house_style,
    require_columns,
)
from mbert_atlas.files import read_json, read_parquet
from mbert_atlas.schemas import PROJECTION

Floats = npt.NDArray[np.float64]
_NAME = "grid of projections"
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "d", "8", "H")
_ANCHOR_SAMPLE = 1000  # points of one class that are compared pairwise to place its label
_LABEL_RISE = 9.0  # pixels from the densest spot of a class to the middle of its label
_LEAST_ODDS = 2.0  # of a class around its label, as a multiple of its odds among all points

# Inches. Nothing here depends on the data, so the places need no layout engine.
_PANEL, _LEGEND, _GAP, _HEAD, _TITLE, _FOOT = 3.9, 2.1, 0.15, 0.3, 0.5, 0.3


class Look(NamedTuple):
    """How one class of points is drawn; ``heading`` is its group, empty if it is alone in it."""

    colour: str
    marker: str
    heading: str


def _family(heading: str, colours: Mapping[str, str]) -> dict[str, Look]:
    """Give each label its colour, and a marker that differs from those of its family."""
    return {
        label: Look(colour, marker, heading)
        for (label, colour), marker in zip(colours.items(), _MARKERS, strict=False)
    }


#: Labels by task. Of the UPOS tags, open classes are warm, closed ones cool, the others grey.
LABEL_LOOKS: dict[str, dict[str, Look]] = {
    "udpos": {
        **_family(
            "open class",
            {
                "NOUN": VERMILION,
                "PROPN": "#7F3C00",
                "VERB": ORANGE,
                "ADJ": PURPLE,
                "ADV": "#A8104F",
                "INTJ": "#E8837A",
            },
        ),
        **_family(
            "closed class",
            {
                "ADP": BLUE,
                "AUX": "#4B2E83",
                "CCONJ": SKY,
                "DET": GREEN,
                "NUM": "#5F7F00",
                "PART": "#7C77D1",
                "PRON": "#0B5351",
                "SCONJ": "#1D3A8F",
            },
        ),
        **_family("other", {"PUNCT": BLACK, "SYM": "#9C9C9C", "X": GREY}),
    },
    "xnli": _family("", {"entailment": BLUE, "neutral": "#8A8A8A", "contradiction": VERMILION}),
}
_LABEL_NAMES = {
    "NOUN": "noun",
    "PROPN": "proper noun",
    "VERB": "verb",
    "ADJ": "adjective",
    "ADV": "adverb",
    "INTJ": "interjection",
    "ADP": "adposition",
    "AUX": "auxiliary",
    "CCONJ": "coordinator",
    "DET": "determiner",
    "NUM": "numeral",
    "PART": "particle",
    "PRON": "pronoun",
    "SCONJ": "subordinator",
    "PUNCT": "punctuation",
    "SYM": "symbol",
}


class Row(NamedTuple):
    """A row of panels: which examples they show and what divides them into classes."""

    key: str
    dataset: str
    column: str
    title: str


_ROWS = (
    Row("label", "target", "label", "{task} labels"),
    Row("language_target", "target", "language", "{task} languages"),
    Row("language_wikipedia", "wikipedia", "language", "Wikipedia languages"),
)


class Scores(NamedTuple):
    """What is known about one panel; none where it was not measured.

    Attributes:
        macro_f1: of a classifier of the panel's classes, percent.
        v_measure: of clusters of the full vectors against the classes, 0 to 1.
        ami: adjusted mutual information of the same clusters, 1 at most, 0 for chance.
    """

    macro_f1: float | None = None
    v_measure: float | None = None
    ami: float | None = None

    def text(self) -> str:
        """Return the known scores in percent, as the paper gives them."""
        parts = [("macro F1", self.macro_f1)]
        parts += [
            (name, None if value is None else 100 * value)
            for name, value in (("V-measure", self.v_measure), ("AMI", self.ami))
        ]
        return ", ".join(f"{name} {value:.1f}%" for name, value in parts if value is not None)


class Condition(NamedTuple):
    """One column of panels.

    Attributes:
        name: how the panels' titles call it.
        points: columns ``dataset`` (``target`` or ``wikipedia``), ``language`` (code), ``label``
            (null for Wikipedia), ``x`` and ``y`` (float); one row per point.
        scores: by row of panels: ``label``, ``language_target``, ``language_wikipedia``.
    """

    name: str
    points: pd.DataFrame
    scores: Mapping[str, Scores]


def read_condition(
    points: Path | str,
    clusters: Path | str,
    scores: Path | str,
    *,
    condition: str,
    task: str,
    protocol: str,
) -> Condition:
    """Read what one column of panels shows.

    Args:
        points: Parquet file, columns :data:`mbert_atlas.schemas.PROJECTION`.
        clusters: JSON file: by row of panels and protocol, ``v_measure`` and ``ami``.
        scores: CSV in the columns :data:`mbert_atlas.schemas.MEASUREMENT_COLUMNS`; its metrics
            ``macro_f1_<row>`` over all languages (empty target) are averaged over seeds.
        condition: initial, fine_tuned, gradient_reversal or entropy_maximisation.
        task: udpos or xnli.
        protocol: published or corrected.

    Raises:
        DataError: if ``points`` has other columns or ``clusters`` is missing or not JSON.
    """
    found = read_json(clusters)
    measured = pd.read_csv(scores, keep_default_na=False, na_values={"value": [""]})
    wanted = {"condition": condition, "task": task, "protocol": protocol, "target": ""}
    for column, value in wanted.items():
        measured = measured[measured[column] == value]
    macro_f1 = measured.dropna(subset="value").groupby("metric")["value"].mean()
    by_row = {}
    for row in _ROWS:
        agreement: Mapping[str, Any] = found.get(row.key, {}).get(protocol, {})
        by_row[row.key] = Scores(
            macro_f1.get(f"macro_f1_{row.key}"), agreement.get("v_measure"), agreement.get("ami")
        )
    name = "fine-tuned" if condition == "fine_tuned" else condition.replace("_", " ")
    return Condition(name, read_parquet(points, PROJECTION).to_pandas(), by_row)


def looks(groups: Mapping[str, str]) -> dict[str, Look]:
    """Give each language a colour by its group and a marker that no other of that colour has.

    Groups of two or more languages get colours first, the largest first. Languages alone in their
    group share out the colours left over, and grey. So colour says what is related and nobody has
    to tell 33 hues apart.

    Args:
        groups: language to group (genus or family); an empty group means none is known.

    Returns:
        Language to look, in legend order: group by group, then the languages that are alone.
    """
    members: dict[str, list[str]] = {}
    for language, group in groups.items():
        members.setdefault(group, []).append(language)
    shared = sorted(
        (group for group, inside in members.items() if group and len(inside) > 1),
        key=lambda group: (-len(members[group]), group),
    )
    alone = [language for language, group in groups.items() if group not in shared]
    spare = (*GROUP_COLOURS[len(shared) :], GREY)
    result = {}
    for index, group in enumerate(shared):
        turn, colour = divmod(index, len(GROUP_COLOURS))
        for place, language in enumerate(members[group], start=5 * turn):
            result[language] = Look(GROUP_COLOURS[colour], _MARKERS[place % len(_MARKERS)], group)
    for place, language in enumerate(alone):
        turn, colour = divmod(place, len(spare))
        marker = _MARKERS[(colour + turn) % len(_MARKERS)]  # neighbours differ in shape too
        result[language] = Look(spare[colour], marker, "")
    return result


def densest_circle(points: Floats) -> tuple[Floats, float]:
    """Return centre (2,) and radius of the smallest circle around a point that holds half of all.

    Unlike the median the centre lies inside a cluster even when the points form several.

    Args:
        points: shape (n, 2), n at least 1; of more than 1,000 an even subset is searched.
    """
    points = points[:: -(-len(points) // _ANCHOR_SAMPLE)]
    radius = np.partition(cdist(points, points), len(points) // 2, axis=1)[:, len(points) // 2]
    centre = int(radius.argmin())
    return np.asarray(points[centre]), float(radius[centre])


def projection_grid(
    conditions: Sequence[Condition],
    *,
    title: str,
    task: str,
    languages: Sequence[str],
    names: Mapping[str, str],
    genera: Mapping[str, str],
    note: str = "",
) -> Figure:
    """Draw a column of three panels per condition: target labels, target and Wikipedia languages.

    Colour and marker of a language follow from ``languages`` and ``genera`` alone, so they are the
    same in every panel and in every figure that is given the same two. A class is named at its
    densest spot, if the odds of meeting it there are twice those over all points.

    Args:
        conditions: columns, from left to right.
        title: goes above the figure.
        task: udpos or xnli.
        languages: all codes that get a look; those that occur are in the legend.
        names: code to English name; a code without one stands alone in the legend.
        genera: code to genus; languages of one genus share a colour.
        note: goes below the panels.

    Raises:
        AtlasError: if the task is unknown, columns or all points of a panel are missing, a
            coordinate is not finite, or a point has a language or label without a look.
    """
    if task not in LABEL_LOOKS:
        raise AtlasError(
            f"{_NAME}: no looks for the labels of task {task} (known: {', '.join(LABEL_LOOKS)})."
        )
    of_language = looks({code: genera.get(code, "") for code in languages})
    panels = [
        (row, condition, _classes(condition, row, LABEL_LOOKS[task], of_language))
        for row in _ROWS
        for condition in conditions
    ]
    width = _GAP + len(conditions) * (_PANEL + _GAP) + _LEGEND
    height = _HEAD + len(_ROWS) * (_TITLE + _PANEL) + _FOOT
    with house_style():
        figure = Figure(figsize=(width, height))
        figure.suptitle(title, x=_GAP / width, y=1 - 0.1 / height, ha="left", va="top")
        figure.text(_GAP / width, 0.1 / height, note, ha="left", va="bottom", fontsize=8)
        for index, (row, condition, (points, classes)) in enumerate(panels):
            axes = _add_axes(figure, *divmod(index, len(conditions)))
            style = LABEL_LOOKS[task] if row.column == "label" else of_language
            _scatter(axes, points, classes, style)
            _write_labels(axes, points, classes, style)
            heading = f"({string.ascii_lowercase[index]}) {row.title.format(task=task.upper())}"
            scores = condition.scores.get(row.key, Scores()).text()
            axes.set_title(f"{heading}, {condition.name}\n{scores}", fontsize=9)
        legends = [(f"{task.upper()} labels", LABEL_LOOKS[task], _LABEL_NAMES)]
        drawn = {code for condition in conditions for code in condition.points["language"]}
        of_drawn = {code: look for code, look in of_language.items() if code in drawn}
        legends.append(("Languages, by genus", of_drawn, dict(names)))
        for place, legend in enumerate(legends):
            axes = _add_axes(figure, place, len(conditions), _LEGEND)
            axes.set_axis_off()
            _write_legend(axes, *legend)
    return figure


def _add_axes(figure: Figure, row: int, column: int, width: float = _PANEL) -> Axes:
    """Add axes in a row and column of the grid, ``width`` inches wide."""
    size = figure.get_size_inches()
    left = _GAP + column * (_PANEL + _GAP)
    bottom = size[1] - _HEAD - (row + 1) * (_TITLE + _PANEL)
    return figure.add_axes((left / size[0], bottom / size[1], width / size[0], _PANEL / size[1]))


def _classes(
    condition: Condition,
    row: Row,
    of_label: Mapping[str, Look],
    of_language: Mapping[str, Look],
) -> tuple[Floats, npt.NDArray[np.object_]]:
    """Return the points of a panel, shape (n, 2), and the class of each, or refuse them."""
    require_columns(condition.points, ("dataset", "language", "label", "x", "y"), _NAME)
    shown = condition.points[condition.points["dataset"] == row.dataset]
    if shown.empty:
        raise AtlasError(
            f"{_NAME}: {condition.name} has no points of dataset {row.dataset}; project it first."
        )
    points = shown[["x", "y"]].to_numpy(dtype=np.float64)
    if not np.isfinite(points).all():
        raise AtlasError(
            f"{_NAME}: a coordinate of {condition.name} is not a finite number; "
            "check the projection behind it."
        )
    classes = shown[row.column].to_numpy(dtype=object)
    known = of_label if row.column == "label" else of_language
    strange = sorted({str(name) for name in classes if name not in known})
    if strange:
        raise AtlasError(
            f"{_NAME}: {condition.name} has points of {row.column} {', '.join(strange)}, "
            f"which has no look (known: {', '.join(known)})."
        )
    return points, classes


def _scatter(
    axes: Axes, points: Floats, classes: npt.NDArray[np.object_], style: Mapping[str, Look]
) -> None:
    """Draw all points in turns, one class after the other, so that none lies above the rest."""
    by_class = pd.Series(classes).groupby(classes)
    turn = (by_class.cumcount() + 0.5) / by_class.transform("size")
    order = np.argsort(turn.to_numpy(), kind="stable")
    shapes = {}
    for name, look in style.items():
        marker = MarkerStyle(look.marker)
        shapes[name] = marker.get_path().transformed(marker.get_transform())
    collection = axes.scatter(
        points[order, 0],
        points[order, 1],
        s=float(np.clip(50_000 / len(points), 12, 26)),
        c=[style[name].colour for name in classes[order]],
        alpha=0.6,
        linewidths=0,
        rasterized=True,  # thousands of vector markers would make a heavy SVG
    )
    collection.set_paths([shapes[name] for name in classes[order]])
    axes.set(xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")
    axes.apply_aspect()  # from here on a pixel keeps its size in data


def _write_labels(
    axes: Axes, points: Floats, classes: npt.NDArray[np.object_], style: Mapping[str, Look]
) -> None:
    """Write the name of each class that has a place of its own beside it, with a line between.

    That place is where half of the class lies closest together, if the class is more frequent
    there than elsewhere. Among classes that mix, names would only hide the points.
    """
    spots = {name: _own_place(points, classes == name) for name in style if name in classes}
    placed = {name: spot for name, spot in spots.items() if spot is not None}
    if not placed:
        return
    anchors = np.stack(list(placed.values()))
    rise = _LABEL_RISE / axes.transData.get_matrix()[1, 1]
    texts = [
        axes.text(
            x,
            y + rise,
            name,
            ha="center",
            va="center",
            fontsize=8.5,
            fontweight="bold",
            color=0.65 * np.array(to_rgb(style[name].colour)),  # darker than the points behind it
            path_effects=[withStroke(linewidth=2.8, foreground="white")],
        )
        for name, (x, y) in zip(placed, anchors.tolist(), strict=True)
    ]
    places = spread_labels(axes, texts)
    axes.add_collection(
        LineCollection(
            list(np.stack([anchors, places], axis=1)),
            colors="#333333",
            linewidths=0.7,
            zorder=2.5,  # above the points, below the labels
        ),
        autolim=False,
    )


def _own_place(points: Floats, inside: npt.NDArray[np.bool_]) -> Floats | None:
    """Return the densest spot of a class, shape (2,); none if it is hardly more frequent there.

    Args:
        points: all points of the panel, shape (n, 2).
        inside: which of them are of the class, shape (n,), at least one.
    """
    centre, radius = densest_circle(points[inside])
    here = float(inside[np.linalg.norm(points - centre, axis=1) <= radius].mean())
    overall = float(inside.mean())
    # the odds here against the odds overall, multiplied out because either may be infinite
    return centre if here * (1 - overall) >= _LEAST_ODDS * overall * (1 - here) else None


def _write_legend(
    axes: Axes, title: str, style: Mapping[str, Look], texts: Mapping[str, str]
) -> None:
    """Fill ``axes`` with a legend: a heading (an invisible patch) per group, then its classes."""
    handles: list[Line2D | Patch] = []
    labels: list[str] = []
    heading = ""
    for name, look in style.items():
        if look.heading != heading:
            heading = look.heading
            handles.append(Patch(facecolor="none", edgecolor="none"))
            labels.append(heading or "alone in their genus")
        handles.append(
            Line2D([], [], marker=look.marker, color=look.colour, linestyle="none", markersize=5.5)
        )
        labels.append(f"{name} {texts.get(name, '')}".strip())
    legend = axes.legend(
        handles,
        labels,
        title=title,
        loc="upper left",
        borderaxespad=0,
        frameon=False,
        alignment="left",
        handletextpad=0.3,
        labelspacing=0.3,
    )
    legend.get_title().set(fontweight="bold", fontsize=9)
    for handle, text in zip(handles, legend.get_texts(), strict=True):
        if isinstance(handle, Patch):
            text.set_fontstyle("italic")


def spread_labels(axes: Axes, texts: Sequence[Text], rounds: int = 500, gap: float = 3.0) -> Floats:
    """Move labels apart until none covers another, inside the axes and without random numbers.

    Args:
        axes: where the labels are; its layout must be settled.
        texts: centred labels in data coordinates; their positions are changed.
        rounds: at most so many small moves.
        gap: pixels kept free around a label to its left and right; half of it above and below.

    Returns:
        Positions in data coordinates, shape (labels, 2).
    """
    boxes = [text.get_window_extent() for text in texts]
    halves = np.array([[box.width / 2 + gap, box.height / 2 + gap / 2] for box in boxes])
    places = axes.transData.transform([text.get_position() for text in texts])
    frame = axes.get_window_extent()
    # labels on one spot need a direction to part in: the golden angle gives each its own
    angles = np.arange(len(texts)) * np.pi * (3 - 5**0.5)
    places += 0.01 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for _ in range(rounds):
        apart = places[:, None] - places[None]
        overlap = halves[:, None] + halves[None] - np.abs(apart)
        clash = (overlap > 0).all(axis=2)
        np.fill_diagonal(clash, False)
        if not clash.any():
            break
        shorter = np.arange(2) == overlap.argmin(axis=2)[..., None]  # the cheaper way out
        push = np.where(clash[..., None] & shorter, np.sign(apart) * overlap / 2, 0.0)
        places = np.clip(
            places + 0.6 * push.sum(axis=1),
            np.add((frame.x0, frame.y0), halves),
            np.subtract((frame.x1, frame.y1), halves),
        )
    places = axes.transData.inverted().transform(places)
    for text, place in zip(texts, places, strict=True):
        text.set_position(tuple(place))
    return np.asarray(places)

"""Maps of two-dimensional projections by language (tanti2021, Figures 3 to 6, panels c to f)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from scipy.spatial.distance import cdist

from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.style import GREY, GROUP_COLOURS, house_style, require_columns

Floats = npt.NDArray[np.float64]
_NAME = "map of languages"
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "d", "8", "H")
_LEGEND_LINES = 44  # that fit into one column
_ALONE = "one language each"
_LABEL_RISE = 12.0  # pixels from the edge of a cluster to the middle of its label
_ANCHOR_SAMPLE = 1000  # points of one language that are compared pairwise to place its label


class Look(NamedTuple):
    """How one language is drawn; ``heading`` is its group, empty if it is alone in it."""

    colour: str
    marker: str
    heading: str


def looks(groups: Mapping[str, str]) -> dict[str, Look]:
    """Give each language a colour by its group and a marker that no other of that colour has.

    Groups of two or more languages get colours first, the largest first. Languages alone in their
    group get the colours left over, or grey where these are too few. So colour says what is
    related and nobody has to tell 33 hues apart.

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
    spare = GROUP_COLOURS[len(shared) :]
    result = {}
    for index, group in enumerate(shared):
        turn, colour = divmod(index, len(GROUP_COLOURS))
        for place, language in enumerate(members[group], start=5 * turn):
            result[language] = Look(GROUP_COLOURS[colour], _MARKERS[place % len(_MARKERS)], group)
    for place, language in enumerate(alone):
        colour_alone = spare[place] if len(alone) <= len(spare) else GREY
        result[language] = Look(colour_alone, _MARKERS[place % len(_MARKERS)], "")
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


def language_map(
    frame: pd.DataFrame, *, title: str, v_measure: float | None = None, ami: float | None = None
) -> Figure:
    """Scatter a projection, with the code of each language written above its densest spot.

    Args:
        frame: columns ``x``, ``y`` (float) and ``language`` (code); optional ``name`` (English
            name for the legend) and ``genus`` or else ``family`` (colours). One row per point.
        title: goes above the figure.
        v_measure: V-measure of clusters against languages, 0 to 1; shown under the title.
        ami: adjusted mutual information of the same clusters; shown beside it.

    Raises:
        AtlasError: if columns are missing or a coordinate is not finite.
    """
    require_columns(frame, ("x", "y", "language"), _NAME)
    points = frame[["x", "y"]].to_numpy(dtype=np.float64)
    if not np.isfinite(points).all():
        raise AtlasError(
            f"{_NAME}: a coordinate is not a finite number; check the projection behind it."
        )
    first = frame.drop_duplicates("language").set_index("language").sort_index()
    by = next((column for column in ("genus", "family") if column in frame.columns), None)
    groups = {str(code): "" if by is None else str(first[by][code]) for code in first.index}
    style = looks(groups)
    codes = frame["language"].to_numpy()
    with house_style():
        handles, labels = _legend(first, groups, style)
        columns = -(-len(labels) // _LEGEND_LINES)
        figure = Figure(figsize=(7.0 + 1.9 * columns, 6.6), layout="constrained")
        axes = figure.subplots()
        for code, look in style.items():
            cloud = points[codes == code]
            axes.scatter(
                cloud[:, 0],
                cloud[:, 1],
                s=16,
                marker=look.marker,
                color=look.colour,
                alpha=0.55,
                linewidths=0,
                rasterized=True,  # thousands of vector markers would make a heavy SVG
            )
        axes.set(xticks=[], yticks=[], xlabel="t-SNE dimension 1", ylabel="t-SNE dimension 2")
        axes.set_aspect("equal", adjustable="datalim")
        figure.suptitle(title, x=0.01, ha="left")
        scores = {"V-measure": v_measure, "AMI": ami}
        parts = [f"{name} {value:.3f}" for name, value in scores.items() if value is not None]
        parts.append(f"{len(style)} languages, {len(frame):,} points")
        axes.set_title(" · ".join(parts), fontsize=9.5)
        legend = figure.legend(
            handles,
            labels,
            loc="outside right upper",
            ncols=columns,
            frameon=False,
            fontsize=8,
            handletextpad=0.3,
            labelspacing=0.35,
        )
        for handle, text in zip(handles, legend.get_texts(), strict=True):
            if isinstance(handle, Patch):  # the name of a group
                text.set_fontweight("bold")
        figure.draw_without_rendering()  # settles the layout, so that pixels have a size in data
        figure.set_layout_engine("none")
        pixel = 1.0 / axes.transData.get_matrix()[1, 1]
        anchors, tops = [], []
        for code in style:
            anchor, radius = densest_circle(points[codes == code])
            anchors.append(anchor)
            tops.append((anchor[0], anchor[1] + 1.5 * radius + _LABEL_RISE * pixel))
        texts = [
            axes.text(
                float(top[0]),
                float(top[1]),
                code,
                ha="center",
                va="center",
                fontsize=9.5,
                fontweight="bold",
                color=0.65 * np.array(to_rgb(look.colour)),  # darker than the points behind it
                path_effects=[withStroke(linewidth=2.8, foreground="white")],
            )
            for top, (code, look) in zip(tops, style.items(), strict=True)
        ]
        places = spread_labels(axes, texts)
        axes.add_collection(
            LineCollection(
                list(np.stack([np.stack(anchors), places], axis=1)),
                colors="#333333",
                linewidths=0.7,
                zorder=2.5,  # above the points, below the labels
            ),
            autolim=False,
        )
    return figure


def _legend(
    first: pd.DataFrame, groups: Mapping[str, str], style: Mapping[str, Look]
) -> tuple[list[Line2D | Patch], list[str]]:
    """Return legend entries: a heading (an invisible patch) per group, then its languages."""
    handles: list[Line2D | Patch] = []
    labels: list[str] = []
    heading = None
    for code, look in style.items():
        if any(groups.values()) and look.heading != heading:
            heading = look.heading
            handles.append(Patch(facecolor="none", edgecolor="none"))
            labels.append(heading or _ALONE)
        handles.append(
            Line2D([], [], marker=look.marker, color=look.colour, linestyle="none", markersize=5.5)
        )
        name = str(first["name"][code]) if "name" in first.columns else ""
        group = f" ({groups[code]})" if groups[code] and not look.heading else ""
        labels.append(f"{code} {name}{group}".strip())
    return handles, labels


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

"""Maps of points in the plane, such as t-SNE's: classes with colour, marker, and name in place."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from scipy.spatial.distance import cdist

from mbert_atlas.figures.style import GREY, group_colours

Floats = npt.NDArray[np.float64]
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "d", "8", "H")
_ANCHOR_SAMPLE = 1000  # points of one class that are compared pairwise to place its label
_LABEL_RISE = 9.0  # pixels from the densest spot of a class to the middle of its label
_MOST_MOVES = 500
_LEAST_ODDS = 2.0  # of a class around its label, as a multiple of its odds among all points


class Look(NamedTuple):
    """How a class of points is drawn, and the heading of its group in the legend."""

    colour: str
    marker: str
    heading: str


def class_looks(classes: Mapping[str, tuple[str, str]]) -> dict[str, Look]:
    """Give each class, of a heading and colour, a marker that no other of its heading has."""
    headings = [heading for heading, _ in classes.values()]
    return {
        name: Look(colour, _MARKERS[headings[:place].count(heading)], heading)
        for place, (name, (heading, colour)) in enumerate(classes.items())
    }


def language_looks(groups: Mapping[str, str], single: str) -> dict[str, Look]:
    """Give each language a colour by its group and a marker that no other of that colour has.

    Groups (genera or families) of two or more languages get colours first, the largest first. The
    other languages, with the heading ``single``, share the colours left over, and grey: colour
    shows what is related, so that no reader has to distinguish 33 hues. The looks are in legend
    order: group by group, then the languages that are alone.
    """
    members: dict[str, list[str]] = {}
    for language, group in groups.items():
        members.setdefault(group, []).append(language)
    shared = sorted(members, key=lambda group: (-len(members[group]), group))
    shared = [group for group in shared if len(members[group]) > 1]
    looks, colours = {}, group_colours()
    for index, group in enumerate(shared):
        turn, colour = divmod(index, len(colours))
        for place, language in enumerate(members[group], start=5 * turn):
            looks[language] = Look(colours[colour], _MARKERS[place % len(_MARKERS)], group)
    spare = (*colours[len(shared) :], GREY)
    alone = [language for language in groups if language not in looks]
    for place, language in enumerate(alone):
        turn, colour = divmod(place, len(spare))
        marker = _MARKERS[(colour + turn) % len(_MARKERS)]  # neighbours differ in shape too
        looks[language] = Look(spare[colour], marker, single)
    return looks


def map_classes(
    axes: Axes, points: Floats, classes: npt.NDArray[np.object_], looks: Mapping[str, Look]
) -> None:
    """Draw points by class, and the names of classes that do not mix with others.

    Points have the shape (n, 2) and are finite, classes have (n,); the axes are settled in size and
    place. A name is placed where half of its class lies closest together, if the odds of the class
    there are twice those over all points. Among classes that mix, names would only hide the points.
    """
    _scatter(axes, points, classes, looks)
    spots = {name: _densest_spot(points, classes == name) for name in looks if name in classes}
    _write_names(axes, {name: spot for name, spot in spots.items() if spot is not None}, looks)


def _scatter(
    axes: Axes, points: Floats, classes: npt.NDArray[np.object_], looks: Mapping[str, Look]
) -> None:
    """Draw all points in turns, one class after the other, so that none lies above the rest."""
    by_class = pd.Series(classes).groupby(classes)
    turn = (by_class.cumcount() + 0.5) / by_class.transform("size")
    order = np.argsort(turn.to_numpy(), kind="stable")
    shapes = {
        name: marker.get_path().transformed(marker.get_transform())
        for name, marker in ((name, MarkerStyle(look.marker)) for name, look in looks.items())
    }
    collection = axes.scatter(
        points[order, 0],
        points[order, 1],
        s=float(np.clip(50_000 / len(points), 12, 26)),
        c=[looks[name].colour for name in classes[order]],
        alpha=0.6,
        linewidths=0,
        rasterized=True,  # thousands of vector markers would make a heavy SVG
    )
    collection.set_paths([shapes[name] for name in classes[order]])
    axes.set(xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")
    axes.apply_aspect()  # from here on a pixel keeps its size in data


def densest_circle(points: Floats) -> tuple[Floats, float]:
    """Return centre (2,) and radius of the smallest circle around a point that holds half of all.

    Unlike the median the centre lies inside a cluster even when the points, shape (n, 2), form
    several. Of more than 1,000 points an even subset is searched.
    """
    points = points[:: -(-len(points) // _ANCHOR_SAMPLE)]
    radius = np.partition(cdist(points, points), len(points) // 2, axis=1)[:, len(points) // 2]
    centre = int(radius.argmin())
    return np.asarray(points[centre]), float(radius[centre])


def _densest_spot(points: Floats, inside: npt.NDArray[np.bool_]) -> Floats | None:
    """Return the densest spot of a class, shape (2,); none if it is hardly more frequent there."""
    centre, radius = densest_circle(points[inside])
    here = float(inside[np.linalg.norm(points - centre, axis=1) <= radius].mean())
    overall = float(inside.mean())
    # the odds here against the odds overall, multiplied out because either may be infinite
    return centre if here * (1 - overall) >= _LEAST_ODDS * overall * (1 - here) else None


def _write_names(axes: Axes, spots: Mapping[str, Floats], looks: Mapping[str, Look]) -> None:
    """Write the names of classes next to their spots, with a line between."""
    if not spots:
        return
    anchors = np.stack(list(spots.values()))
    rise = _LABEL_RISE / axes.transData.get_matrix()[1, 1]
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8.5, "fontweight": "bold"}
    texts = []
    for name, (x, y) in zip(spots, anchors.tolist(), strict=True):
        colour = 0.65 * np.array(to_rgb(looks[name].colour))  # darker than the points behind it
        halo = [withStroke(linewidth=2.8, foreground="white")]
        texts.append(axes.text(x, y + rise, name, color=colour, path_effects=halo, **style))
    ends = list(np.stack([anchors, spread_labels(axes, texts)], axis=1))
    # Above the points, below the labels.
    leaders = LineCollection(ends, colors="#333333", linewidths=0.7, zorder=2.5)
    axes.add_collection(leaders, autolim=False)


def spread_labels(axes: Axes, texts: Sequence[Text]) -> Floats:
    """Move labels apart until none covers another, inside the axes and without random numbers.

    The layout of the axes must be settled. Returns positions in data coordinates, (labels, 2).
    """
    boxes = [text.get_window_extent() for text in texts]
    halves = np.array([[box.width / 2 + 3, box.height / 2 + 1.5] for box in boxes])
    places = axes.transData.transform([text.get_position() for text in texts])
    frame = axes.get_window_extent()
    # labels on one spot need different directions to part in: multiples of the golden angle
    angles = np.arange(len(texts)) * np.pi * (3 - 5**0.5)
    places += 0.01 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for _ in range(_MOST_MOVES):
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


def write_legend(
    axes: Axes, title: str, looks: Mapping[str, Look], names: Mapping[str, str]
) -> None:
    """Fill ``axes`` with a legend: a heading (an invisible patch) per group, then its classes."""
    handles: dict[str, Line2D | Patch] = {}
    for name, look in looks.items():
        if look.heading:
            handles.setdefault(look.heading, Patch(facecolor="none", edgecolor="none"))
        handles[f"{name} {names.get(name, '')}".strip()] = Line2D(
            [], [], marker=look.marker, color=look.colour, linestyle="none", markersize=5.5
        )
    style: dict[str, Any] = {"loc": "upper left", "borderaxespad": 0, "frameon": False}
    style |= {"alignment": "left", "handletextpad": 0.3, "labelspacing": 0.3}
    legend = axes.legend(list(handles.values()), list(handles), title=title, **style)
    legend.get_title().set(fontweight="bold", fontsize=9)
    for entry, text in zip(handles.values(), legend.get_texts(), strict=True):
        if isinstance(entry, Patch):
            text.set_fontstyle("italic")

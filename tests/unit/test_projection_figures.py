"""Maps of points: looks of classes, and names where a class is densest."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from mbert_atlas.figures.projection import densest_circle, language_looks, spread_labels
from mbert_atlas.figures.style import GREY

GENERA = {
    "Germanic": "af de en nl",
    "Romance": "es fr it pt",
    "Indic": "hi mr ur",
    "Slavic": "bg ru",
    "Finnic": "et fi",
    "Semitic": "ar he",
    "Turkic": "kk tr",
}
ALONE = ["el", "eu", "fa", "hu", "id", "ja", "ko", "ta", "te", "th", "tl", "vi", "yo", "zh"]


def test_languages_differ_in_colour_or_marker_and_relatives_share_a_colour() -> None:
    genera = {code: name for name, codes in GENERA.items() for code in codes.split()}
    looks = language_looks(genera | {code: f"genus of {code}" for code in ALONE}, "single")
    assert len({(look.colour, look.marker) for look in looks.values()}) == 33
    for name, codes in GENERA.items():
        assert len({looks[code].colour for code in codes.split()}) == 1
        assert {looks[code].heading for code in codes.split()} == {name}
    related = {looks[code].colour for code in genera}
    alone = {looks[code].colour for code in ALONE}
    assert len(related) == len(GENERA)
    assert GREY in alone
    assert not related & alone
    assert {looks[code].heading for code in ALONE} == {"single"}
    few = language_looks({"en": "Germanic", "de": "Germanic", "fi": "Finnic", "tr": "Turkic"}, "")
    assert len({look.colour for look in few.values()}) == 3
    assert GREY not in {look.colour for look in few.values()}


def test_densest_circle_lies_in_the_larger_of_two_clusters() -> None:
    rng = np.random.default_rng(3)
    points = np.concatenate([rng.normal(0, 1, (60, 2)), rng.normal(50, 1, (40, 2))])
    centre, radius = densest_circle(points)
    assert np.linalg.norm(centre) < 2
    assert radius < 5
    centre, radius = densest_circle(np.ones((1, 2)))
    assert (centre.tolist(), radius) == ([1, 1], 0)
    centre, radius = densest_circle(rng.normal(0, 1, (5001, 2)))
    assert np.abs(centre).max() < 1.5
    # Half of a standard normal lies within the square root of 2 ln 2.
    assert radius == pytest.approx((2 * np.log(2)) ** 0.5, rel=0.1)


def test_many_names_on_one_spot_are_parted() -> None:
    figure = Figure()
    axes = figure.add_axes((0, 0, 1, 1))
    labels = [axes.text(0.5, 0.5, f"name {i}", ha="center", va="center") for i in range(33)]
    spread_labels(axes, labels)
    boxes = [label.get_window_extent() for label in labels]
    for index, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:index])

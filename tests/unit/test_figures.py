"""Figures show what the data say, keep their labels apart, and save the same bytes twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.distances import (
    distance_grid,
    distance_histograms,
    panel_titles,
    read_distances,
    separation,
)
from mbert_atlas.figures.projection import densest_circle, language_map, looks
from mbert_atlas.figures.style import GREY, save_figure
from mbert_atlas.figures.transfer import transfer_plot
from mbert_atlas.files import write_parquet
from mbert_atlas.schemas import WORD_DISTANCES

PANELS = {"original": (14, 17), "adjusted": (10, 17), "NLI-tuned": (9, 9.5), "both": (8, 10)}
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


def distances(seeds: tuple[int, ...] = (1, 2, 3), size: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.concat(
        pd.DataFrame(
            {
                "panel": panel,
                "seed": seed,
                "kind": kind,
                "distance": rng.normal(mean, 1.0, size),
            }
        )
        for panel, means in PANELS.items()
        for seed in seeds
        for kind, mean in zip(("related", "unrelated"), means, strict=True)
    )


def projection(spread: float = 20.0, size: int = 20) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    genus = {code: name for name, codes in GENERA.items() for code in codes.split()}
    genus |= {code: f"genus of {code}" for code in ALONE}
    return pd.concat(
        pd.DataFrame(
            rng.normal(0, spread, 2) + rng.normal(0, 1, (size, 2)), columns=["x", "y"]
        ).assign(language=code, name=f"Name of {code}", genus=name)
        for code, name in genus.items()
    )


def transfer() -> pd.DataFrame:
    return pd.DataFrame(
        [
            (language, condition, protocol, seed, base + gain + 0.1 * seed)
            for language, base in {"es": 74.0, "hi": 59.0}.items()
            for condition, gain in {"original": 0.0, "adjusted": 1.5}.items()
            for protocol in ("published", "corrected")
            for seed in (1, 2, 3)
        ],
        columns=["language", "condition", "protocol", "seed", "value"],
    )


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(mpl.text.Text) if text.get_text()]


def test_separation_against_closed_forms_and_brute_force() -> None:
    low, high = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    assert separation(low, high) == (1.0, 1.5 / 4.0)
    assert separation(low, low).auc == 0.5
    rng = np.random.default_rng(2)
    related, unrelated = rng.integers(1, 9, 40).astype(float), rng.integers(3, 12, 50).astype(float)
    wins = [(u > r) + 0.5 * (u == r) for r in related for u in unrelated]
    assert separation(related, unrelated).auc == pytest.approx(np.mean(wins))


def test_distance_panels_share_bins_and_axes_and_carry_their_numbers() -> None:
    frame = distances()
    figure = distance_histograms(frame, title="Hindi–English", bins=20)
    panels = figure.axes
    assert [axes.get_title(loc="left") for axes in panels] == [
        f"({letter}) {name}" for letter, name in zip("abcd", PANELS, strict=True)
    ]
    assert len({axes.get_xlim() for axes in panels}) == 1
    assert len({axes.get_ylim() for axes in panels}) == 1
    assert [axes.get_xlabel() for axes in panels[2:]] == ["L2 distance"] * 2
    assert panels[0].get_ylabel() == "share of pairs (%)"
    low, high = frame["distance"].min(), frame["distance"].max()
    edges = np.linspace(low - (high - low) / 20, high + (high - low) / 20, 23)
    for axes, panel in zip(panels, PANELS, strict=True):
        steps = [patch.get_data() for patch in axes.patches if isinstance(patch, StepPatch)]
        assert len(steps) == 6  # for either kind: fill, line, band over seeds
        assert all(np.allclose(step.edges, edges) for step in steps)
        cells = frame[frame["panel"] == panel]
        for index, kind in enumerate(("related", "unrelated")):
            of_kind = cells[cells["kind"] == kind]
            shares = [
                np.histogram(of_seed["distance"], edges)[0] / 3  # percent of 300
                for _, of_seed in of_kind.groupby("seed")
            ]
            assert np.allclose(steps[3 * index + 1].values, np.mean(shares, axis=0))
            assert np.allclose(steps[3 * index + 2].values, np.max(shares, axis=0))
            assert np.allclose(steps[3 * index + 2].baseline, np.min(shares, axis=0))
        by_seed = [
            separation(
                seed[seed["kind"] == "related"]["distance"].to_numpy(),
                seed[seed["kind"] == "unrelated"]["distance"].to_numpy(),
            )
            for _, seed in cells.groupby("seed")
        ]
        note = axes.texts[0].get_text()
        assert f"AUC {np.mean([s.auc for s in by_seed]):.3f}" in note
        assert f"mean ratio {np.mean([s.ratio for s in by_seed]):.3f}" in note
        assert f"–{max(s.auc for s in by_seed):.3f})" in note
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[:2] == ["related", "related, range of 3 seeds"]


def test_distance_panels_can_be_chosen_and_one_seed_has_no_band() -> None:
    figure = distance_histograms(
        distances(seeds=(1,)), title="t", panels=["adjusted", "original", "both"], columns=2
    )
    shown = [axes.get_title(loc="left") for axes in figure.axes if axes.axison]
    assert shown == ["(a) adjusted", "(b) original", "(c) both"]
    assert "range" not in " ".join(texts(figure))
    assert "(" not in figure.axes[0].texts[0].get_text()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda frame: frame.drop(columns="kind"), "no column kind"),
        (lambda frame: frame.iloc[:0], "no rows"),
        (lambda frame: frame.assign(distance=-frame["distance"]), "3600.* negative or not finite"),
        (lambda frame: frame.replace({"distance": {frame["distance"].max(): np.nan}}), "1 dist"),
        (lambda frame: frame.replace({"kind": {"related": "same"}}), "unknown kind same"),
        (
            lambda frame: frame[
                ~((frame["panel"] == "both") & (frame["seed"] == 2) & (frame["kind"] == "related"))
            ],
            "panel both, seed 2 has no related pairs",
        ),
    ],
)
def test_unusable_distances_are_refused(
    spoil: Callable[[pd.DataFrame], pd.DataFrame], message: str
) -> None:
    with pytest.raises(AtlasError, match=message):
        distance_histograms(spoil(distances(size=150)), title="t")


def test_an_absent_panel_is_named() -> None:
    with pytest.raises(AtlasError, match="no distances for panel continual"):
        distance_histograms(distances(), title="t", panels=["original", "continual"])


def test_a_grid_has_a_column_per_language_and_a_row_per_panel() -> None:
    frame = pd.concat(distances(seeds=(1, 2)).assign(language=code) for code in ("hi", "ru"))
    chosen = {"adjusted": "adjusted,\nthen", "original": "as it was"}
    figure = distance_grid(
        frame, title="Words", languages={"ru": "Russian", "hi": "Hindi"}, panels=chosen
    )
    assert len(figure.axes) == 4
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == ["Russian", "Hindi"]
    assert [figure.axes[k].get_ylabel() for k in (0, 2)] == list(chosen.values())
    texts = [axes.texts[0].get_text() for axes in figure.axes]
    assert texts[0] == texts[1]  # the same numbers in both languages
    assert float(texts[0].split()[1]) > float(texts[2].split()[1]) > 0.9  # AUC
    with pytest.raises(AtlasError, match="no distances for panel absent"):
        distance_grid(frame, title="", languages={"hi": "Hindi"}, panels={"absent": ""})


def test_distances_are_read_by_protocol(tmp_path: Path) -> None:
    for language in ("hi", "ru"):
        (tmp_path / language).mkdir()
        columns = {
            "panel": ["nli:published+corrected", "adjusted:published", "adjusted:corrected"],
            "kind": ["related"] * 3,
            "distance": [1.0, 2.0, 3.0],
        }
        table = pa.table(columns, schema=WORD_DISTANCES)
        write_parquet(table, tmp_path / language / "seed2.parquet")
    paths = [tmp_path / language / "seed2.parquet" for language in ("hi", "ru")]
    frame = read_distances(paths, "corrected")
    assert frame.groupby("panel")["distance"].first().to_dict() == {"nli": 1.0, "adjusted": 3.0}
    assert frame["language"].tolist() == ["hi", "hi", "ru", "ru"]
    assert set(frame["seed"]) == {2}


def test_panels_have_readable_titles() -> None:
    assert panel_titles(["original", "adjusted_nli", "adjusted_continual-qa"]) == {
        "original": "original",
        "adjusted_nli": "adjusted, then NLI",
        "adjusted_continual-qa": "adjusted, then continual QA",
    }


def test_languages_differ_in_colour_or_marker_and_relatives_share_a_colour() -> None:
    genus = {code: name for name, codes in GENERA.items() for code in codes.split()}
    style = looks(genus | {code: f"genus of {code}" for code in ALONE})
    assert len({(look.colour, look.marker) for look in style.values()}) == 33
    for codes in GENERA.values():
        assert len({style[code].colour for code in codes.split()}) == 1
    assert {style[code].colour for code in ALONE} == {GREY}
    few = looks({"en": "Germanic", "de": "Germanic", "fi": "Finnic", "tr": "Turkic"})
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


@pytest.mark.parametrize("spread", [20.0, 0.0])
def test_language_map_labels_are_readable_even_when_all_clusters_coincide(spread: float) -> None:
    figure = language_map(projection(spread), title="Initial encoder", v_measure=0.5, ami=0.25)
    (axes,) = figure.axes
    assert len(axes.collections) == 33 + 1  # a cloud per language, and the leader lines
    labels = axes.texts
    assert sorted(label.get_text() for label in labels) == sorted(set(projection()["language"]))
    frame = axes.get_window_extent()
    boxes = [label.get_window_extent() for label in labels]
    for index, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:index])
        assert frame.x0 <= box.x0
        assert box.x1 <= frame.x1
        assert frame.y0 <= box.y0
        assert box.y1 <= frame.y1
    assert axes.get_title(loc="left") == "V-measure 0.500 · AMI 0.250 · 33 languages, 660 points"
    legend = figure.legends[0]
    shown = [text.get_text() for text in legend.get_texts()]
    assert shown[:2] == ["Germanic", "af Name of af"]
    assert "zh Name of zh (genus of zh)" in shown
    assert not legend.get_window_extent().overlaps(axes.get_window_extent())
    assert legend.get_window_extent().y0 > 0


def test_language_map_needs_only_codes_and_finite_points() -> None:
    bare = projection()[["x", "y", "language"]]
    figure = language_map(bare, title="t")
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["af", "ar"]
    with pytest.raises(AtlasError, match="not a finite number"):
        language_map(bare.assign(x=np.inf), title="t")


def test_transfer_plot_shows_seeds_means_and_hollow_reported_values() -> None:
    reported = pd.DataFrame(
        [("es", "original", 74.2), ("es", "adjusted", 74.82), ("ru", "original", 67.95)],
        columns=["language", "condition", "value"],
    )
    figure = transfer_plot(
        transfer(), reported, title="XNLI", value_label="accuracy (%)", names={"es": "Spanish"}
    )
    left, right = figure.axes
    assert left.get_title(loc="left") == "protocol: published"
    assert left.get_xlabel() == right.get_xlabel() == "accuracy (%)"
    assert [label.get_text() for label in left.get_yticklabels()] == ["Spanish", "hi"]
    seeds, means, hollow = left.lines[:3]
    assert len(seeds.get_xdata()) == 6
    assert np.allclose(means.get_xdata(), [74.2, 59.2])
    assert list(hollow.get_xdata()) == [74.2]  # Russian was not measured
    assert hollow.get_markerfacecolor() == "none"
    assert left.lines[0].get_ydata()[0] < left.lines[3].get_ydata()[0]  # upper row comes first
    assert left.yaxis_inverted()
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["original", "adjusted", "one seed", "reported by the paper"]


def test_transfer_plot_refuses_what_it_cannot_show() -> None:
    with pytest.raises(AtlasError, match="nothing measured for condition continual"):
        transfer_plot(transfer(), title="t", value_label="v", conditions=["continual"])
    with pytest.raises(AtlasError, match="not a finite number"):
        transfer_plot(transfer().assign(value=np.nan), title="t", value_label="v")
    many = pd.concat(transfer().assign(condition=str(i)) for i in range(9))
    with pytest.raises(AtlasError, match="9 conditions are too many"):
        transfer_plot(many, title="t", value_label="v")


@pytest.mark.parametrize(
    "draw",
    [
        lambda: distance_histograms(distances(size=100), title="t"),
        lambda: language_map(projection(size=5), title="t"),
        lambda: transfer_plot(transfer(), title="t", value_label="v"),
    ],
    ids=["distances", "map", "transfer"],
)
def test_saved_twice_gives_the_same_bytes(draw: Callable[[], Figure], tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    first = save_figure(draw(), tmp_path / "first")
    second = save_figure(draw(), tmp_path / "second")
    assert dict(mpl.rcParams) == before
    assert [path.name for path in first] == ["first.svg", "first.png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "first.png",
        "first.svg",
        "second.png",
        "second.svg",
    ]
    for one, other in zip(first, second, strict=True):
        assert len(one.read_bytes()) > 5_000
        assert one.read_bytes() == other.read_bytes()
    assert "<dc:date>" not in first[0].read_text()

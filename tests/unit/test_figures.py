"""Figures show what the data say, keep their labels apart, and save the same bytes twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.markers import MarkerStyle
from matplotlib.patches import StepPatch

from mbert_atlas.analysis.measurements import write_measurements
from mbert_atlas.analysis.separation import separation
from mbert_atlas.corpora import nli
from mbert_atlas.corpora.universal_dependencies import UPOS
from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.curves import curve_plot
from mbert_atlas.figures.distances import (
    distance_grid,
    distance_histograms,
    panel_titles,
    read_distances,
)
from mbert_atlas.figures.projection import (
    LABEL_LOOKS,
    Condition,
    Scores,
    densest_circle,
    looks,
    projection_grid,
    read_condition,
    spread_labels,
)
from mbert_atlas.figures.style import GREY, save_figure
from mbert_atlas.figures.transfer import read_scores, transfer_plot
from mbert_atlas.files import write_json, write_parquet
from mbert_atlas.schemas import PROJECTION, WORD_DISTANCES

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


def genera() -> dict[str, str]:
    genus = {code: name for name, codes in GENERA.items() for code in codes.split()}
    genus |= {code: f"genus of {code}" for code in ALONE}
    return dict(sorted(genus.items()))


def points(
    by: str, languages: Sequence[str], labels: Sequence[str], size: int = 3, spread: float = 20.0
) -> pd.DataFrame:
    """Clusters of target examples by label or by language, and of paragraphs by language."""
    rng = np.random.default_rng(1)
    target = [
        {"dataset": "target", "language": language, "label": label}
        for language in languages
        for label in labels
        for _ in range(size)
    ]
    paragraphs = [
        {"dataset": "wikipedia", "language": language, "label": None}
        for language in genera()
        for _ in range(5 * size)
    ]
    frame = pd.DataFrame(target + paragraphs)
    groups = frame[by].where(frame["dataset"] == "target", frame["language"])
    centres = {name: rng.normal(0, spread, 2) for name in dict.fromkeys(groups)}
    noise = rng.normal(0, 1, (len(frame), 2))
    frame[["x", "y"]] = np.stack([centres[name] for name in groups]) + noise
    return frame


def projections(
    task: str = "udpos",
    languages: Sequence[str] = (),
    spoil: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame,
    spread: float = 20.0,
) -> Figure:
    chosen, labels = list(languages) or list(genera()), list(LABEL_LOOKS[task])
    return projection_grid(
        [
            Condition("initial", points("language", chosen, labels, spread=spread), {}),
            Condition(
                "fine-tuned",
                spoil(points("label", chosen, labels, spread=spread)),
                {"label": Scores(59.63, 0.475, -0.001), "language_target": Scores(v_measure=0.5)},
            ),
        ],
        title="t",
        task=task,
        languages=list(genera()),
        names={code: f"Name of {code}" for code in genera()},
        genera=genera(),
        note="seed 1",
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
    style = looks(genera())
    assert len({(look.colour, look.marker) for look in style.values()}) == 33
    for codes in GENERA.values():
        assert len({style[code].colour for code in codes.split()}) == 1
    related = {style[code].colour for codes in GENERA.values() for code in codes.split()}
    alone = {style[code].colour for code in ALONE}
    assert len(related) == len(GENERA)
    assert GREY in alone
    assert not related & alone
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


def test_labels_of_every_task_differ_in_colour_and_markers_within_a_family() -> None:
    assert set(LABEL_LOOKS["udpos"]) == UPOS
    assert set(LABEL_LOOKS["xnli"]) == set(nli.LABELS)
    for style in LABEL_LOOKS.values():
        assert len({look.colour for look in style.values()}) == len(style)
        assert len({(look.marker, look.heading) for look in style.values()}) == len(style)


def drawn(axes: Axes) -> list[tuple[float, float, str, int]]:
    """Return position, colour and number of path vertices (a marker's) of each point, sorted."""
    cloud = axes.collections[0]
    assert isinstance(cloud, PathCollection)
    assert cloud.get_rasterized()
    offsets = np.asarray(cloud.get_offsets()).tolist()
    colours = [to_hex(colour) for colour in cloud.get_facecolor()]
    sides = [len(path.vertices) for path in cloud.get_paths()]
    return sorted((x, y, c, n) for (x, y), c, n in zip(offsets, colours, sides, strict=True))


def test_panels_show_every_point_with_the_look_of_its_class() -> None:
    figure = projections()
    panels = figure.axes[:6]
    frame = points("label", list(genera()), list(LABEL_LOOKS["udpos"]))
    for axes, (dataset, column) in zip(
        panels[1::2],
        [("target", "label"), ("target", "language"), ("wikipedia", "language")],
        strict=True,
    ):
        style = LABEL_LOOKS["udpos"] if column == "label" else looks(genera())
        shown = frame[frame["dataset"] == dataset]
        expected = sorted(
            (x, y, style[name].colour.lower(), len(MarkerStyle(style[name].marker).get_path()))
            for x, y, name in zip(shown["x"], shown["y"], shown[column], strict=True)
        )
        assert drawn(axes) == expected


def test_points_of_all_classes_take_turns() -> None:
    figure = projections("xnli")
    cloud = figure.axes[1].collections[0]
    colours = [to_hex(colour) for colour in np.asarray(cloud.get_facecolor())]
    assert len(colours) == 33 * 3 * 3
    assert all(len(set(colours[i : i + 3])) == 3 for i in range(0, len(colours), 3))


def test_languages_look_the_same_in_every_panel_and_figure() -> None:
    few = projections("xnli", ["ar", "de", "hi", "zh"])
    many = projections("udpos")
    style = looks(genera())
    for figure, codes in ((few, ["ar", "de", "hi", "zh"]), (many, list(genera()))):
        seen = {colour for _, _, colour, _ in drawn(figure.axes[3])}
        assert seen == {style[code].colour.lower() for code in codes}
        seen = {colour for _, _, colour, _ in drawn(figure.axes[5])}
        assert seen == {style[code].colour.lower() for code in style}


def legend(figure: Figure, index: int) -> list[tuple[str, object, object]]:
    """Return text, colour and marker of each line; 0 for the labels, 1 for the languages."""
    found = figure.axes[6 + index].get_legend()
    assert found is not None
    return [
        (text.get_text(), getattr(handle, "get_color", str)(), getattr(handle, "get_marker", str)())
        for handle, text in zip(found.legend_handles, found.get_texts(), strict=True)
    ]


@pytest.mark.parametrize("task", ["udpos", "xnli"])
def test_legends_name_every_class_once_and_lie_within_the_figure(task: str) -> None:
    figure = projections(task)
    style = looks(genera())
    lines = legend(figure, 1)
    assert [line for line in lines if line[1]] == [
        (f"{code} Name of {code}", look.colour, look.marker) for code, look in style.items()
    ]
    headings = [text for text, colour, _ in lines if not colour]
    assert sorted(headings) == sorted([*GENERA, "alone in their genus"])
    lines = legend(figure, 0)
    assert [line[0].split()[0] for line in lines if line[1]] == list(LABEL_LOOKS[task])
    assert len([line for line in lines if not line[1]]) == (3 if task == "udpos" else 0)
    boxes = [axes.get_legend().get_window_extent() for axes in figure.axes[6:]]
    right = max(axes.get_window_extent().x1 for axes in figure.axes[:6])
    assert boxes[0].y0 > boxes[1].y1 > boxes[1].y0 > 0
    for box in boxes:
        assert right < box.x0
        assert box.x1 < figure.bbox.x1
        assert box.y1 < figure.bbox.y1


@pytest.mark.parametrize("spread", [20.0, 4.0])
def test_names_in_a_panel_do_not_cover_each_other(spread: float) -> None:
    figure = projections(spread=spread)
    named = [sorted(text.get_text() for text in axes.texts) for axes in figure.axes[:6]]
    if spread == 20.0:
        languages, labels = sorted(genera()), sorted(LABEL_LOOKS["udpos"])
        # no names where each cluster has points of all classes
        assert named == [[], labels, languages, [], languages, languages]
    assert len(named[4]) > 20
    for axes in figure.axes[:6]:
        frame = axes.get_window_extent()
        boxes = [text.get_window_extent() for text in axes.texts]
        for index, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[:index])
            assert frame.x0 <= box.x0 < box.x1 <= frame.x1
            assert frame.y0 <= box.y0 < box.y1 <= frame.y1


def test_many_names_on_one_spot_are_parted() -> None:
    figure = Figure()
    axes = figure.add_axes((0, 0, 1, 1))
    labels = [axes.text(0.5, 0.5, f"name {i}", ha="center", va="center") for i in range(33)]
    spread_labels(axes, labels)
    boxes = [label.get_window_extent() for label in labels]
    for index, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:index])


def test_titles_have_letters_and_the_scores_that_are_known_and_do_not_touch() -> None:
    figure = projections()
    titles = [axes.get_title(loc="left") for axes in figure.axes[:6]]
    assert titles == [
        "(a) UDPOS labels, initial\n",
        "(b) UDPOS labels, fine-tuned\nmacro F1 59.6%, V-measure 47.5%, AMI -0.1%",
        "(c) UDPOS languages, initial\n",
        "(d) UDPOS languages, fine-tuned\nV-measure 50.0%",
        "(e) Wikipedia languages, initial\n",
        "(f) Wikipedia languages, fine-tuned\n",
    ]
    figure.draw_without_rendering()
    boxes = [
        text.get_window_extent()
        for axes in figure.axes[:6]
        for text in axes.findobj(mpl.text.Text)
        if text.get_text() in titles
    ]
    panels = [axes.get_window_extent() for axes in figure.axes[:6]]
    notes = [text.get_window_extent() for text in figure.texts]
    assert len(boxes) == 6
    for index, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in [*boxes[:index], *panels, *notes])
    assert {"t", "seed 1"} <= set(texts(figure))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda frame: frame.drop(columns="label"), "no column label"),
        (lambda frame: frame.assign(x=np.inf), "of fine-tuned is not a finite number"),
        (
            lambda frame: frame[frame["dataset"] == "target"],
            "fine-tuned has no points of dataset wikipedia",
        ),
        (lambda frame: frame.replace({"label": {"NOUN": "N"}}), "points of label N, which has no"),
        (lambda frame: frame.assign(label=None), "points of label None, which"),
        (lambda frame: frame.replace({"language": {"zh": "sw"}}), "points of language sw, which"),
    ],
)
def test_unusable_projections_are_refused(
    spoil: Callable[[pd.DataFrame], pd.DataFrame], message: str
) -> None:
    with pytest.raises(AtlasError, match=message):
        projections(spoil=spoil)


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(AtlasError, match="no looks for the labels of task ner"):
        projection_grid([], title="t", task="ner", languages=[], names={}, genera={})


def test_scores_of_a_condition_are_means_over_seeds_of_its_protocol_and_task(
    tmp_path: Path,
) -> None:
    frame = points("label", ["de", "hi"], ["NOUN", "VERB"])
    frame = frame.assign(example_id=frame.index.map(str))
    table = pa.Table.from_pandas(frame, PROJECTION, preserve_index=False)
    write_parquet(table, tmp_path / "points.parquet")
    agreement = {"v_measure": 0.475, "ami": 0.4, "v_measure_chance": 0.1, "n": 12, "k": 2}
    clusters = {
        "label": {"published": agreement, "corrected": {**agreement, "ami": 0.3}},
        "language_wikipedia": {"published": agreement},
    }
    write_json(clusters, tmp_path / "clusters.json")
    common = {"condition": "fine_tuned", "task": "udpos", "metric": "macro_f1_label"}
    rows = [
        {**common, "protocol": "corrected", "seed": 1, "value": 59.0},
        {**common, "protocol": "corrected", "seed": 2, "value": 60.0},
        {**common, "protocol": "corrected", "seed": 2, "value": 9.0, "target": "de"},
        {**common, "protocol": "published", "seed": 1, "value": 9.0},
        {**common, "protocol": "corrected", "value": 9.0, "condition": "initial"},
        {**common, "protocol": "corrected", "value": 9.0, "task": "xnli"},
        {**common, "protocol": "corrected", "value": 7.0, "metric": "macro_f1_language_target"},
    ]
    write_measurements(rows, tmp_path / "scores.csv", paper="somebody2020")
    found = read_condition(
        *(tmp_path / name for name in ("points.parquet", "clusters.json", "scores.csv")),
        condition="fine_tuned",
        task="udpos",
        protocol="corrected",
    )
    assert found.name == "fine-tuned"
    assert found.scores == {
        "label": Scores(59.5, 0.475, 0.3),
        "language_target": Scores(7.0, None, None),
        "language_wikipedia": Scores(None, None, None),
    }
    assert found.points["label"].isna().equals(found.points["dataset"] == "wikipedia")
    for column in ("dataset", "language", "x", "y"):
        assert found.points[column].tolist() == table[column].to_pylist()


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


def test_a_legend_lists_no_language_without_a_point() -> None:
    few = projections("xnli", spoil=lambda frame: frame[frame["language"].isin(["de", "hi"])])
    many = legend(projections("xnli"), 1)
    assert len(legend(few, 1)) == len(many)  # the other condition still has all languages
    own = points("label", ["de", "hi"], list(LABEL_LOOKS["xnli"]))
    figure = projection_grid(
        [Condition("initial", own[own["language"].isin(["de", "hi"])], {})],
        title="t",
        task="xnli",
        languages=list(genera()),
        names={},
        genera=genera(),
    )
    found = figure.axes[4].get_legend()
    assert found is not None
    lines = [text.get_text() for text in found.get_texts()]
    assert lines == ["Germanic", "de", "Indic", "hi"]
    assert found.legend_handles[1].get_color() == looks(genera())["de"].colour


def test_conditions_keep_their_look_and_panels_have_their_own_languages() -> None:
    frame = transfer()
    order = ["original", "continual", "adjusted"]
    tests = pd.concat(
        [
            frame.assign(test="one"),
            frame[(frame["language"] == "hi") & (frame["condition"] == "adjusted")].assign(
                test="two", seed=1
            ),
        ]
    ).drop_duplicates(["test", "language", "condition", "protocol", "seed"])
    figure = transfer_plot(tests, title="t", value_label="v", order=order)
    one, _, two, _ = figure.axes
    assert [tick.get_text() for tick in two.get_yticklabels()] == ["hi"]
    assert len(one.get_yticklabels()) == 2

    def look(axes: Axes, text: str) -> tuple[object, object]:
        (line,) = [line for line in axes.lines if line.get_label() == text]
        return line.get_color(), line.get_marker()

    assert look(one, "adjusted") == look(two, "adjusted")
    alone = frame[frame["condition"] == "adjusted"]
    figure = transfer_plot(alone, title="t", value_label="v", order=order)
    assert look(figure.axes[0], "adjusted") == look(one, "adjusted")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["adjusted", "one seed"]


def test_a_legend_names_only_what_is_drawn() -> None:
    reported = pd.DataFrame([("ru", "original", 1.0)], columns=["language", "condition", "value"])
    frame = transfer()
    figure = transfer_plot(frame[frame["seed"] == 1], reported, title="t", value_label="v")
    found = [text.get_text() for text in figure.legends[0].get_texts()]
    assert found == ["original", "adjusted"]


def test_curves_keep_the_look_of_a_line() -> None:
    def colours(lines: str) -> dict[str, object]:
        frame = pd.DataFrame(
            [{"panel": "p", "line": line, "along": 1, "value": 1, "seed": 1} for line in lines]
        )
        figure = curve_plot(frame, title="", along_label="", value_label="", order=list("abc"))
        return {str(line.get_label()): line.get_color() for line in figure.axes[0].lines}

    assert colours("cb")["c"] == colours("c")["c"] == colours("abc")["c"]


def test_transfer_plot_refuses_what_it_cannot_show() -> None:
    with pytest.raises(AtlasError, match="nothing measured for condition continual"):
        transfer_plot(transfer(), title="t", value_label="v", conditions=["continual"])
    with pytest.raises(AtlasError, match="not a finite number"):
        transfer_plot(transfer().assign(value=np.nan), title="t", value_label="v")
    many = pd.concat(transfer().assign(condition=str(i)) for i in range(9))
    with pytest.raises(AtlasError, match="9 conditions are too many"):
        transfer_plot(many, title="t", value_label="v")


@pytest.mark.parametrize(("lines", "legends"), [("ab", 1), ("cd", 2)])
def test_curves_have_legends_of_their_own_if_panels_share_no_line(lines: str, legends: int) -> None:
    frame = pd.DataFrame(
        [
            {"panel": panel, "line": line, "along": 1, "value": 1, "seed": 1}
            for panel, own in (("p", "ab"), ("q", lines))
            for line in own
        ]
    )
    figure = curve_plot(frame, title="t", along_label="x", value_label="y")
    inside = [axes.get_legend() for axes in figure.axes]
    assert len(figure.legends) + sum(legend is not None for legend in inside) == legends
    many = [frame.assign(line=frame["panel"] + str(number)) for number in range(7)]
    with pytest.raises(AtlasError, match="7 lines are too many"):
        curve_plot(pd.concat(many).drop_duplicates(), title="", along_label="", value_label="")


def test_scores_are_read_with_gains_first_and_by_language_of_training(tmp_path: Path) -> None:
    common = {"artifact": "table5", "condition": "adjusted", "source": "en", "seed": 1}
    rows = [
        {**common, "task": task, "target": "ru", "protocol": protocol, "metric": m, "value": v}
        for task, shift in (("xnli", 0.0), ("mlqa:qa_mixed", 5.0))
        for protocol in ("published", "corrected")
        for m, v in (("accuracy", 70.0 + shift), ("f1", 60.0 + shift), ("p_value", 0.1))
    ]
    path, reported = tmp_path / "m.csv", tmp_path / "r.csv"
    write_measurements(rows, path, paper="somebody2020")
    pd.DataFrame(rows).assign(metric="accuracy").to_csv(reported, index=False)
    measured, beside, label = read_scores(path, reported)
    assert label == "accuracy, F1 (%)"
    assert set(measured["test"]) == {"XNLI", "MLQA: mixed"}
    assert set(measured["protocol"]) == {"both"}  # they agree in all values
    assert beside is not None
    assert set(beside["metric"]) == {"accuracy"}
    other = [{**row, "source": "de"} for row in rows if row["metric"] == "accuracy"]
    write_measurements([*rows, *other], path)
    found = read_scores(path, None)[0]
    assert "XNLI, trained on de" in set(found["test"])
    by_layer = [{**row, "layers": layer} for row in rows for layer in ("1", "2")]
    write_measurements([*rows, *by_layer], path)
    assert len(read_scores(path, None)[0]) == len(measured)
    gains = [{**rows[0], "metric": "gain_over_original", "value": 1.0}]
    write_measurements([*rows, *gains], path)
    found, _, label = read_scores(path, None)
    assert (found["language"].tolist(), label) == (["XNLI"], "gain (points)")


@pytest.mark.parametrize(
    "draw",
    [
        lambda: distance_histograms(distances(size=100), title="t"),
        projections,
        lambda: transfer_plot(transfer(), title="t", value_label="v"),
    ],
    ids=["distances", "projections", "transfer"],
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

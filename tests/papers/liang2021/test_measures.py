"""Rows of the figures and tables, from probes and predictions."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from configs import ROOT, config
from matplotlib.axes import Axes
from seqeval.metrics import f1_score

from mbert_atlas.analysis.measurements import write_measurements
from mbert_atlas.analysis.scoring import label_accuracies
from mbert_atlas.cells import Cell
from mbert_atlas.files import write_parquet
from mbert_atlas.languages import Languages
from mbert_atlas.papers.liang2021 import measures
from mbert_atlas.papers.liang2021.figures import by_layer, by_window, curves, draw_curves
from mbert_atlas.plan.plan import Plan
from mbert_atlas.schemas import LANGUAGE_PROBES, SUBSPACE_SCORES, TAG_PREDICTIONS

IDENTIFICATION = [
    ("published", "densray", 4, "first", 0, 10, "accuracy", 90.0),
    ("published", "densray", 4, "first", 0, 20, "accuracy", 95.0),
    ("published", "densray", 4, "next", 10, 20, "accuracy", 80.0),
    ("published", "densray", 4, "random", 0, 10, "accuracy", 60.0),
    ("published", "densray", 4, "baseline", 0, 10, "accuracy", 70.0),
    ("published", "densray", 4, "window", 0, 10, "accuracy", 90.0),
    ("published", "densray", 4, "window", 10, 20, "accuracy", 80.0),
    ("published", "densray", 4, "window", 20, 30, "accuracy", 70.0),
    ("published", "densray", 4, "window", 30, 40, "accuracy", 75.0),
    ("corrected", "densray", 4, "baseline", 0, 10, "accuracy", 65.0),
    ("corrected", "densray", 4, "window", 10, 20, "accuracy", 80.0),
    ("published", "densray", 4, "layer", 0, 1, "accuracy", 88.0),
    ("published", "densray", 1, "layer", 0, 1, "accuracy", 99.0),
    ("published", "densray", 2, "layer", 0, 1, "accuracy", 97.0),
    ("published", "densray", 3, "layer", 0, 1, "accuracy", 94.0),
    ("published", "densray", 0, "layer", 0, 1, "accuracy", 50.0),
    ("published", "densray", 4, "majority", 0, 0, "accuracy", 55.0),
    ("published", "lda", 4, "majority", 0, 0, "accuracy", 55.0),
]


def probes(path, rows, **columns):
    rows = [dict(zip(LANGUAGE_PROBES.names, (*row, 100, 1), strict=True)) for row in rows]
    write_parquet(pa.Table.from_pylist(rows, LANGUAGE_PROBES), path)
    return [Cell(model="mbert", path=str(path), **columns)]


@pytest.fixture
def cells(tmp_path):
    path = tmp_path / "probes.parquet"
    return probes(path, IDENTIFICATION, task="identification", language="italic")


def test_windows_are_named_by_their_columns(cells):
    rows = list(measures.measure_windows(cells, 4, {"mbert": 22}))
    assert {row["condition"]: row["value"] for row in rows if row["protocol"] == "published"} == {
        "densray_0-10": 90.0,
        "densray_0-20": 95.0,
        "densray_10-20": 80.0,
        "densray_random-10": 60.0,
        "densray_first-languages": 95.0,
        "densray_first-half": 90.0,
        "densray_next-half": 80.0,
        "densray_random-half": 60.0,
        "densray_majority": 55.0,
        "lda_majority": 55.0,
    }
    assert {row["metric"] for row in rows} == {"score"}
    assert {row["layers"] for row in rows} == {"4"}


def test_gains_over_the_baseline_and_where_they_reach_zero(cells):
    rows = list(measures.measure_gains(cells, 4))
    assert {row["target"] for row in rows} == {"italic"}
    gains = {
        (row["protocol"], row["condition"]): row["value"]
        for row in rows
        if row["metric"] == "score_gain"
    }
    assert gains == {
        ("published", "densray_0-10"): 20.0,
        ("published", "densray_10-20"): 10.0,
        ("published", "densray_20-30"): 0.0,
        ("published", "densray_30-40"): 5.0,
        ("corrected", "densray_10-20"): 15.0,
    }
    found = [row for row in rows if row["metric"].startswith("dimensionality")]
    # Later gains do not count. There is no window without a gain as corrected: it may be larger.
    assert {(row["protocol"], row["metric"], row["value"]) for row in found} == {
        ("published", "dimensionality", 20),
        ("corrected", "dimensionality_censored", 20),
    }
    assert {(row["condition"], row["n"]) for row in found} == {("densray", 10)}


def test_a_curve_without_an_end_in_one_seed_has_no_dimensionality(tmp_path):
    """Nor if seeds have separate files, as random sets of languages; steps are of the grid."""
    baseline = ("corrected", "densray", 4, "baseline", 0, 2, "accuracy", 50.0)
    names, cells = LANGUAGE_PROBES.names, []
    for seed, gains in ((1, (5, 0, 5)), (2, (5, 5, 5))):
        windows = [
            ("corrected", "densray", 4, "window", start, start + 2, "accuracy", 50.0 + gain)
            for start, gain in enumerate(gains)
        ]
        rows = [dict(zip(names, (*row, 100, seed), strict=True)) for row in (baseline, *windows)]
        path = tmp_path / f"random{seed}.parquet"
        write_parquet(pa.Table.from_pylist(rows, LANGUAGE_PROBES), path)
        place = {"task": "identification", "model": "mbert", "language": "random"}
        cells.append(Cell(**place, path=str(path)))
    found = [
        (row["metric"], row["seed"], row["value"], row["n"])
        for row in measures.measure_gains(cells, 4)
        if row["metric"] != "score_gain"
    ]
    assert found == [("dimensionality_censored", 1, 1, 1), ("dimensionality_censored", 2, 4, 1)]
    (first,) = (row for row in measures.measure_gains(cells[:1], 4) if row["metric"][0] == "d")
    assert (first["metric"], first["value"]) == ("dimensionality", 1)


OF_16 = {"quarter": 5, "half": 10, "languages": 15, "double": 40}


@pytest.mark.parametrize(
    ("sizes", "languages"),
    [
        ([1, *range(10, 201, 10)], {"quarter": 30, "half": 50, "languages": 100, "double": 200}),
        ([1, 5, 10, 15, 20, 40, 80, 160], OF_16),
        ([1, 10, 20], {"quarter": 1, "half": 10, "languages": 20}),
        ([10, 20], {"half": 10, "languages": 20}),
    ],
)
def test_windows_by_the_number_of_languages_are_all_different(tmp_path, sizes, languages):
    count = {200: 104, 160: 16, 20: 22}[sizes[-1]]
    rows = [("corrected", "lda", 4, "first", 0, size, "accuracy", 1.0 * size) for size in sizes]
    cells = probes(tmp_path / "probes.parquet", rows, task="identification")
    found = {
        row["condition"].removeprefix("lda_first-"): row["value"]
        for row in measures.measure_windows(cells, 4, {"mbert": count})
        if row["condition"].startswith("lda_first-")
    }
    assert found == languages


def test_languages_that_are_clustered_are_no_items(tmp_path):
    """V-measure of ten languages is no share of ten: it has no binomial error."""
    rows = [
        ("corrected", "lda", 4, kind, 0, 10, metric, 50.0)
        for kind in ("first", "layer", "window", "baseline")
        for metric in ("ami", "v_measure", "chance_v_measure")
    ]
    cells = probes(tmp_path / "probes.parquet", rows, task="similarity")
    for found in (
        measures.measure_windows(cells, 4, {"mbert": 10}),
        measures.measure_layers(cells),
        (row for row in measures.measure_gains(cells, 4) if row["metric"].endswith("_gain")),
    ):
        found = list(found)
        assert found
        assert {row["n"] for row in found} == {None}


def test_the_authors_bonus_is_only_in_gains_of_densray(tmp_path):
    rows = [
        (protocol, method, 4, kind, 0, 10, metric, value)
        for method in ("densray", "lda")
        for protocol, metric in (
            ("published", "v_measure"),
            ("corrected", "v_measure"),
            ("corrected", "ami"),
        )
        for kind, value in (("first", 50.0), ("layer", 45.0), ("window", 50.0), ("baseline", 40.0))
    ]
    cells = probes(tmp_path / "probes.parquet", rows, task="similarity")
    # LS_figure2.py: alpha = 0 if args.lda else 0.1; print(v - vavg + alpha)
    gains = {
        (row["protocol"], row["condition"], row["metric"]): row["value"]
        for row in measures.measure_gains(cells, 4)
    }
    assert gains == {
        ("published", "densray_0-10", "score_gain"): 20.0,
        ("published", "lda_0-10", "score_gain"): 10.0,
        **{
            ("corrected", f"{method}_0-10", metric): 10.0
            for method in ("densray", "lda")
            for metric in ("score_gain", "v_measure_gain")
        },
        **{
            (protocol, method, "dimensionality_censored"): 10
            for protocol in ("published", "corrected")
            for method in ("densray", "lda")
        },
    }
    windows = measures.measure_windows(cells, 4, {"mbert": 10})
    assert {row["value"] for row in windows} == {50.0}
    assert {row["value"] for row in measures.measure_layers(cells)} == {45.0}


def test_halves_of_the_layers_exclude_the_embeddings(cells):
    values = {row["layers"]: row["value"] for row in measures.measure_layers(cells)}
    layers = {"0": 50, "1": 99, "2": 97, "3": 94, "4": 88}
    assert values == layers | {"lower": 98, "upper": 91, "penultimate": 94, "last": 88}


def test_f1_drops_from_the_whole_space_of_the_same_seed():
    scores = pd.DataFrame(
        [
            ("densray", 0, "en", 90.0, 1),
            ("densray", 0, "de", 70.0, 1),
            ("densray", 20, "en", 89.0, 1),
            ("densray", 20, "de", 67.0, 1),
            ("densray", 50, "en", 70.0, 1),
            ("lda", 80, "en", 60.0, 1),
            ("lda", 80, "de", 40.0, 1),
            ("densray", 0, "en", 50.0, 2),
            ("densray", 20, "en", 40.0, 2),
            ("densray", 20, "en", 30.0, 3),  # no whole space
        ],
        columns=["method", "first", "language", "value", "seed"],
    ).assign(n=9)
    # Made-up resamples: the value and its half.
    scores["resampled"] = [np.array([1, 0.5]) * value for value in scores["value"]]
    rows = list(measures.f1_drops(scores, "frozen", rank=23, protocol="published"))
    for row in rows:
        assert row["resampled"].tolist() == [row["value"], row["value"] / 2]
    found = {(row["condition"], row["seed"]): (row["value"], row["n"]) for row in rows}
    assert found == {
        ("frozen_densray_20", 1): (2.0, 18),
        ("frozen_densray_rank", 1): (2.0, 18),
        ("frozen_densray_50", 1): (10.0, 9),
        ("frozen_densray_middle", 1): (10.0, 9),
        ("frozen_lda_80", 1): (30.0, 18),
        ("frozen_lda_last", 1): (30.0, 18),
        ("frozen_densray_20", 2): (10.0, 9),
        ("frozen_densray_rank", 2): (10.0, 9),
    }
    assert list(measures.f1_drops(scores[:2], "tuned", rank=23)) == []


def cell(language, protocol="published", **changes):
    values = {
        "task": "pos",
        "kind": "tagging",
        "dataset": "test",
        "source": "en+de+zh",
        "language": language,
        "condition": "l_dar",
        "protocol": protocol,
        "seed": 1,
        "path": "",
    }
    return Cell(**(values | changes))


def test_means_over_languages_of_training_and_others(monkeypatch):
    scores = {"en": 90.0, "de": 80.0, "fr": 60.0, "hi": 40.0}
    monkeypatch.setattr(measures, "f1_of", lambda cell: {"value": scores[cell.language], "n": 7})
    half = {name: {"value": 50.0, "n": 7} for name in ("accuracy", "majority_accuracy")}
    monkeypatch.setattr(measures, "label_accuracies", lambda cell: half)
    cells = [cell(language, layers=layers) for layers in ("", "1-2", "3-4") for language in scores]
    rows = list(measures.measure_preservation(cells, means=True))
    whole = {row["target"]: row["value"] for row in rows if row["layers"] == ""}
    assert whole == {"train": 85.0, "zero_shot": 50.0, "all": 67.5}
    items = {row["target"]: row["n"] for row in rows if row["layers"] == ""}
    assert items == {"train": 14, "zero_shot": 14, "all": 28}  # of two and four languages
    assert {row["layers"] for row in rows} == {"", "1-2", "3-4", "bottom", "top"}
    assert {row["metric"] for row in rows} == {"f1"}
    baseline = [replace(one, condition="baseline") for one in cells[:4]]
    found = {
        (row["metric"], row["target"]): (row["value"], row["n"])
        for row in measures.measure_preservation(baseline, means=True)
        if row["target"] != "all"
    }
    assert found == {
        ("f1", "train"): (85.0, 14),
        ("f1", "zero_shot"): (50.0, 14),
        **{(name, target): (50.0, 14) for name in half for target in ("train", "zero_shot")},
    }
    by_language = list(measures.measure_preservation(cells[:4], means=False))
    assert {row["target"]: row["value"] for row in by_language} == scores | {"avg": 67.5}


def test_tags_count_as_seqeval_does_or_as_words(tmp_path):
    gold = ["NOUN", "NOUN", "VERB", "DET", "PRON", "VERB"]
    prediction = ["NOUN", "NOUN", "VERB", "DET", "DET", "VERB"]
    row = {
        "dataset": "test",
        "language": "en",
        "example_id": "1",
        "gold": gold,
        "prediction": prediction,
        "words": list(range(6)),
    }
    write_parquet(pa.Table.from_pylist([row], TAG_PREDICTIONS), tmp_path / "predictions.parquet")
    published, corrected = (
        measures.f1_of(cell("en", protocol, path=str(tmp_path / "predictions.parquet")))
        for protocol in ("published", "corrected")
    )
    with pytest.warns(UserWarning, match="NE tag"):
        expected = f1_score([gold], [prediction])
    assert (published["value"], published["n"]) == (pytest.approx(100 * expected), 6)
    assert (corrected["value"], corrected["n"]) == (pytest.approx(500 / 6), 6)
    assert published["value"] != corrected["value"]
    labels = label_accuracies(cell("en", path=str(tmp_path / "predictions.parquet")))
    assert {name: (score["value"], score["n"]) for name, score in labels.items()} == {
        "accuracy": (pytest.approx(500 / 6), 6),
        "majority_accuracy": (pytest.approx(200 / 6), 6),  # two of six are nouns
    }
    # With one sentence every resample is the test set.
    for score in (published, corrected, *labels.values()):
        assert score["resampled"] == pytest.approx(np.full(400, score["value"]), abs=1e-4)


@pytest.mark.parametrize(
    ("artifact", "measure", "options"),
    [
        ("figure1", measures.measure_windows, (4, {"mbert": 22})),
        ("figure2", measures.measure_gains, (4,)),
        ("figure3", measures.measure_layers, ()),
        ("figure5", measures.measure_gains, (4,)),
    ],
)
def test_figures_show_one_value_per_line_place_and_seed(
    cells, tmp_path, artifact, measure, options
):
    frame = write_measurements(measure(cells, *options), tmp_path / "measured.csv")
    drawn = curves(frame, artifact, "published")
    assert len(drawn)
    assert not drawn.duplicated(["panel", "line", "along", "seed"]).any()
    measured = [Cell(path=str(tmp_path / "measured.csv"))]
    options = {"artifact": artifact, "protocol": "published", "title": "", "sets": ["italic"]}
    figure = draw_curves(measured, **options, models={}, items="vectors")
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert all("%" in label or "points" in label for label in map(Axes.get_ylabel, shown))
    assert all("accuracy" in label for label in map(Axes.get_ylabel, shown[:1]))
    if points := {"figure3": by_layer, "figure5": by_window}.get(artifact):
        columns = ["panel", "along", "value", "seed"]
        rows = points(frame[frame["protocol"] == "published"])
        assert rows[columns].equals(drawn[columns])
        assert set(rows["line"]) <= {
            *("in place of mBERT: DensRay", "in place of mBERT: LDA", "italic")
        }


def test_encoders_are_rows_of_panels_and_named_once(tmp_path):
    rows = [
        {"task": task, "model": model, "condition": f"lda_{start}-{start + 10}", "seed": 1}
        | {"metric": "score_gain", "value": 1.0, "n": 9}
        for task in ("identification", "typology", "similarity")
        for model in ("mbert", "xlmr")
        for start in (0, 10)
    ]
    options = {
        "artifact": "figure2",
        "protocol": "published",
        "title": "T",
        "sets": [],
        "items": "",
    }
    drawn = []
    for some in (rows, rows[:2]):
        write_measurements(some, tmp_path / "m.csv")
        figure = draw_curves([Cell(path=str(tmp_path / "m.csv"))], **options, models={"xlmr": "X"})
        titles = [axes.get_title(loc="left") for axes in figure.axes]
        drawn.append((figure.get_suptitle(), titles))
    rest = ["\ntypology", "\nsimilarity"]
    titles = ["mBERT\nidentification", *rest, "X\nidentification", *rest]
    assert drawn == [("T, published", titles), ("T, published\nmBERT", [""])]


def test_figure_4_has_frozen_and_fine_tuned_lines_in_one_panel(tmp_path, monkeypatch):
    names = ("method", "first", "language", "metric", "value", "n", "seed")
    rows = [
        dict(zip(names, ("lda", first, "en", "span_micro_f1", 90.0 - first, 9, 1), strict=True))
        for first in (0, 20)
    ]
    path = str(tmp_path / "frozen.parquet")
    write_parquet(pa.Table.from_pylist(rows, SUBSPACE_SCORES), path)
    monkeypatch.setattr(
        measures, "f1_of", lambda cell: {"value": 80.0 - cell.facts["first"] / 10, "n": 9}
    )
    cells = [Cell(task="pos", model="mbert", source="en", condition="frozen", path=path)]
    cells += [
        cell("en", condition="tuned", protocol=protocol, facts={"method": "lda", "first": first})
        for protocol in ("published", "corrected")
        for first in (0, 20)
    ]
    frame = write_measurements(measures.measure_removal(cells, 23), tmp_path / "measured.csv")
    assert {(row.condition, row.protocol): row.value for row in frame.itertuples()} == {
        (f"{training}_lda_{first}", protocol): value
        for training, value in (("frozen", 20.0), ("tuned", 2.0))
        for first in ("20", "rank", "middle", "last")
        for protocol in ("published", "corrected")
    }
    drawn = curves(frame, "figure4", "corrected")
    assert drawn[["panel", "line", "along"]].values.tolist() == [
        ["POS", "mbert_lda", 20],
        ["POS", "mbert_lda_tuned", 20],
    ]


def test_figure_4_has_words_of_either_first_subword_by_protocol(tmp_path):
    """Only where the tokenizer is SentencePiece's; else a file is of both protocols."""
    plan = Plan(config(), Languages.read(ROOT / "resources/languages.csv"), home=ROOT)
    frozen = [
        (cell.model, cell.protocol, "-characters/" in cell.path)
        for cell in plan.measurements["liang2021/figure4"].cells()
        if cell.condition == "frozen" and cell.task == "pos"
    ]
    assert frozen == [
        ("mbert", "", False),
        ("xlmr", "published", False),
        ("xlmr", "corrected", True),
    ]
    poolings = {name: plan.features[name].pooling for name in plan.features if "xlmr" in name}
    assert poolings["liang2021/xlmr-ner-test"] == "first"
    assert poolings["liang2021/xlmr-ner-characters-test"] == "characters"
    rows = [
        {"method": "densray", "first": first, "language": "en", "metric": "span_micro_f1"}
        | {"value": 90.0 - first, "n": 9, "seed": 1, "resampled": [90.0 - first] * 400}
        for first in (0, 10)
    ]
    write_parquet(pa.Table.from_pylist(rows, schema=SUBSPACE_SCORES), tmp_path / "scores")
    for protocol, expected in (("", {"published", "corrected"}), ("corrected", {"corrected"})):
        cell = Cell("pos", model="xlmr", condition="frozen", protocol=protocol)
        cell = replace(cell, path=str(tmp_path / "scores"))
        measured = list(measures.measure_removal([cell], 9))
        assert {row["protocol"] for row in measured} == expected
        assert {row["value"] for row in measured} == {10.0}

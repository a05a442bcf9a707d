"""The measurements of the paper: experiments and counts."""

import numpy as np
import pyarrow as pa
import pytest
from seqeval.metrics import f1_score
from sklearn import metrics

from mbert_atlas.analysis.resampling import resamples
from mbert_atlas.arrays import Ragged, save_arrays
from mbert_atlas.cells import Cell
from mbert_atlas.files import write_json, write_parquet
from mbert_atlas.papers.tanti2021.measures import (
    count_examples,
    count_points,
    list_choices,
    measure_clusters,
    measure_scores,
)
from mbert_atlas.schemas import CLASS_PREDICTIONS, TAG_PREDICTIONS

AGREEMENT = {"v_measure": 0.25, "ami": 0.125, "v_measure_chance": 0.0625, "n": 40, "k": 3}


def tags(path, gold, predicted, words, languages, dataset="udpos-test"):
    count = len(gold)
    columns = [[dataset] * count, languages, [str(n) for n in range(count)], gold, predicted, words]
    table = pa.table(columns, schema=TAG_PREDICTIONS)
    write_parquet(table, path)
    return table


def classes(path, rows):
    columns = [list(column) for column in zip(*rows, strict=True)]
    probabilities = [[0.5, 0.5]] * len(rows)
    table = pa.table([*columns, probabilities], schema=CLASS_PREDICTIONS)
    write_parquet(table, path)


def experiment(folder, task, protocol, condition="fine_tuned"):
    paths = {name: str(folder / name) for name in ("labels", "languages", "training", "clusters")}
    kind = {"udpos": "tagging", "xnli": "nli"}[task]
    return Cell(task, kind, condition=condition, protocol=protocol, seed=1, paths=paths)


def scores(*experiments):
    return values(measure_scores(experiments, by_language="table1_languages"))


def report(folder):
    entropy = dict.fromkeys(("target", "wikipedia"), 1.5)
    write_json(
        {protocol: {"entropy": entropy} for protocol in ("published", "corrected")},
        folder / "training",
    )


def values(rows):
    return {
        (row.get("artifact", ""), row["metric"]): (row["value"], row["n"])
        for row in rows
        if not row.get("target")
    }


@pytest.mark.filterwarnings("ignore:.*seems not to be NE tag")
def test_tokens_are_scored_as_spans_of_subwords_or_as_words(tmp_path):
    # The first word has two labelled subwords, of which the second is wrong.
    gold = [["NOUN", "NOUN", "VERB"], ["ADJ", "NOUN"]]
    predicted = [["NOUN", "VERB", "VERB"], ["ADJ", "NOUN"]]
    tags(tmp_path / "labels", gold, predicted, [[0, 0, 1], [0, 1]], ["zh", "en"])
    languages = [["zh"] * 3, ["en"] * 2]
    guessed = [["zh", "en", "zh"], ["en"] * 2]
    places, codes = [[0, 1, 2], [0, 1]], ["zh", "en"]
    parts = [
        tags(tmp_path / "part", languages, guessed, places, codes, dataset)
        for dataset in ("target", "wikipedia")
    ]
    write_parquet(pa.concat_tables(parts), tmp_path / "languages")
    report(tmp_path)

    published = scores(experiment(tmp_path, "udpos", "published"))
    expected = 100 * f1_score(gold, predicted, average="macro")
    assert published["", "macro_f1_label"] == (pytest.approx(expected), 5)
    expected = 100 * f1_score(gold, predicted, average="micro")
    assert published["footnote6", "micro_f1_label"] == (pytest.approx(expected), 5)
    expected = 100 * f1_score(languages, guessed, average="macro")
    assert published["", "macro_f1_language_target"] == (pytest.approx(expected), 5)
    assert published["", "entropy_language_wikipedia"] == (1.5, 5)

    corrected = scores(experiment(tmp_path, "udpos", "corrected"))
    assert corrected["", "macro_f1_label"] == (100, 4)  # every word's first subword is right
    flat = [[code for codes in side for code in codes] for side in (languages, guessed)]
    expected = 100 * metrics.f1_score(*flat, average="macro")
    assert corrected["", "macro_f1_language_wikipedia"] == (pytest.approx(expected), 5)
    assert corrected["", "token_accuracy_language_target"] == (80, 5)
    # Three of five subwords, two of four words are nouns.
    assert published["", "majority_accuracy"] == (pytest.approx(60), 5)
    assert corrected["", "majority_accuracy"] == (50, 4)

    # A resample with either sentence once is the test set; one language has a single sentence.
    (once,) = np.nonzero((resamples(["0", "1"]) == 1).all(axis=1))
    for row in measure_scores([experiment(tmp_path, "udpos", "published")], by_language="b"):
        if row["metric"].startswith("entropy"):
            assert "resampled" not in row
        else:
            again = row["resampled"] if row.get("target") else row["resampled"][once]
            assert again == pytest.approx(np.full(len(again), row["value"]), abs=1e-4)


def test_texts_have_what_gates_compare_the_accuracy_of_languages_with(tmp_path):
    classes(tmp_path / "labels", [("xnli", "en", "1", "neutral", "neutral")])
    codes = {"target": ["en", "hi", "hi", "hi"], "wikipedia": ["en", "hi", "ur", "ur"]}
    rows = [
        (name, code, f"{n}", code, "en") for name in codes for n, code in enumerate(codes[name])
    ]
    classes(tmp_path / "languages", rows)
    report(tmp_path)
    found = scores(experiment(tmp_path, "xnli", "published"))
    assert found["", "accuracy_language_target"] == (25, 4)
    assert found["", "majority_accuracy_language_target"] == (75, 4)
    assert found["", "majority_accuracy_language_wikipedia"] == (50, 4)


def test_stray_languages_count_as_published_only(tmp_path):
    classes(tmp_path / "labels", [("xnli", "en", str(n), "neutral", "neutral") for n in range(3)])
    classes(
        tmp_path / "languages",
        [
            (dataset, language, str(n), language, guess)
            for dataset in ("target", "wikipedia")
            for n, (language, guess) in enumerate([("en", "en"), ("hi", "hi"), ("hi", "ur")])
        ],
    )
    report(tmp_path)
    f1 = {"en": 1.0, "hi": 2 / 3, "ur": 0.0}
    for protocol, counted in (("published", f1), ("corrected", ("en", "hi"))):
        measured = scores(experiment(tmp_path, "xnli", protocol))
        expected = 100 * np.mean([f1[code] for code in counted])
        assert measured["", "macro_f1_language_target"][0] == pytest.approx(expected)
        assert measured["footnote6", "accuracy_label"] == (100, 3)
    initial = experiment(tmp_path, "xnli", "published", "initial")
    assert ("footnote6", "accuracy_label") not in scores(initial)


def test_clusters_and_points(tmp_path):
    by_protocol = {"published": AGREEMENT | {"v_measure": 0.5}, "corrected": AGREEMENT}
    names = ("label", "language_target", "language_wikipedia")
    write_json(dict.fromkeys(names, by_protocol), tmp_path / "clusters")
    for protocol, v_measure in (("published", 50), ("corrected", 25)):
        measured = values(measure_clusters([experiment(tmp_path, "udpos", protocol)]))
        assert measured["", "v_measure_label"] == (v_measure, 40)
        assert measured["", "ami_language_wikipedia"] == (12.5, 40)
        assert measured["", "clustering_label"] == (v_measure if v_measure == 50 else 12.5, 40)
    assert counts(count_points([experiment(tmp_path, "xnli", "published")])) == {
        (task, ""): 40 for task in ("xnli", "wikipedia")
    }


def counts(rows):
    """Return counts by task and part."""
    return {(row["task"], row.get("condition", "")): row["value"] for row in rows}


def test_examples_are_counted_by_part(tmp_path):
    ids = Ragged.from_rows([np.array([1, 2])] * 20, np.int32)
    language = np.array(["en"] * 10 + ["hi"] * 10)
    plain, wikipedia = str(tmp_path / "plain"), str(tmp_path / "wikipedia")
    save_arrays(tmp_path / "plain", {"input_ids": ids, "language": language}, {})
    split = np.array(["train"] * 14 + ["validation"] * 2 + ["dev"] * 2 + ["test"] * 2)
    arrays = {"input_ids": ids, "language": language, "split": split}
    save_arrays(tmp_path / "wikipedia", arrays, {})
    held = {"selection": {"metric": "macro_f1", "fraction": 0.1, "seed": 0}}
    cells = [
        Cell("xnli", condition="train", path=plain, facts=held),
        Cell("xnli", condition="dev", path=plain, facts={"languages": ["hi", "de"]}),
        Cell("xnli", condition="dev", path=plain),
        Cell("xnli", condition="test", path=plain, facts={"selection": None}),
        Cell("wikipedia", condition="train", path=wikipedia),
    ]
    assert counts(count_examples(cells)) == {
        ("xnli", "train"): 18,
        ("xnli", "val"): 2,
        ("xnli", "dev"): 10 + 20,
        ("xnli", "test"): 20,
        ("wikipedia", "train"): 14,
        ("wikipedia", "val"): 2,
        ("wikipedia", "dev"): 2,
        ("wikipedia", "test"): 2,
    }


def test_a_choice_is_listed_under_the_names_of_table_5(tmp_path):
    path = tmp_path / "choice"
    drawn = {"optimisation.batch_size": 16, "confusion.weight": 0.3}
    names = {"gradient_reversal": "grad_rev_lambda", "entropy_maximisation": "entropy_weight"}
    for condition, weight in names.items():
        write_json({"values": drawn, "score": 71.5}, path)
        cell = Cell("udpos", condition=condition, protocol="published", path=str(path))
        rows = list(list_choices([cell]))
        measured = {row["metric"]: row["value"] for row in rows}
        assert measured == {"minibatch": 16, weight: 0.3, "dev_f1": 71.5}
        assert {row["condition"] for row in rows} == {condition}


def test_a_choice_may_be_of_any_hyperparameter_but_numbers_alone_are_measured(tmp_path):
    path = tmp_path / "choice"
    drawn = {"optimisation.epochs": 3, "optimisation.schedule": "linear", "trained_layers": ["1-2"]}
    write_json({"values": drawn, "score": 71.5}, path)
    cell = Cell("udpos", condition="fine_tuned", protocol="published", path=str(path))
    rows = list(list_choices([cell]))
    assert {row["metric"]: row["value"] for row in rows} == {"epochs": 3, "dev_f1": 71.5}

"""Measurements of zero-shot transfer from prediction files."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats
from seqeval.metrics import f1_score
from toy_tables import class_predictions, span_predictions, tag_predictions

from mbert_atlas.analysis import SCORINGS
from mbert_atlas.analysis.measurements import write_measurements
from mbert_atlas.analysis.significance import holm
from mbert_atlas.analysis.transfer import measure_transfer
from mbert_atlas.cells import Cell
from mbert_atlas.config.tasks import TASKS
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import read_parquet, write_parquet

GOLD = ["entailment", "neutral", "contradiction", "neutral"] * 25
AGAINST = {"adjusted": "original"}


def predictions(path, right):
    """Write predictions, correct where ``right`` is true."""
    guess = ["entailment" if gold != "entailment" else "neutral" for gold in GOLD]
    rows = [
        ("xnli", "es", f"{number:03}", gold, gold if ok else wrong)
        for number, (gold, wrong, ok) in enumerate(zip(GOLD, guess, right, strict=True))
    ]
    write_parquet(class_predictions(rows), path)
    return str(path)


@pytest.fixture
def cells(tmp_path):
    random = np.random.default_rng(0)
    runs, right = [], {}
    for condition, share in (("original", 0.5), ("adjusted", 0.8)):
        for seed in (1, 2):
            right[condition, seed] = random.random(len(GOLD)) < share
            path = predictions(tmp_path / f"{condition}{seed}.parquet", right[condition, seed])
            runs.append(Cell("xnli", "nli", "xnli", "en", "es", condition, "published", seed, path))
    return runs, right


def measured(cells, **options):
    """Return the measurement as a table."""
    frame = pd.DataFrame(measure_transfer(cells, **options))
    return frame.astype({"seed": "Int64"})


def values_of(frame, **columns):
    for column, value in columns.items():
        frame = frame[frame[column] == value]
    return frame.set_index("metric")["value"]


def test_accuracy_by_seed_and_the_test_over_seeds(cells):
    runs, right = cells
    frame = measured(runs, against=AGAINST)
    accuracy = frame[frame.metric == "accuracy"].set_index(["condition", "seed"])["value"]
    for key, correct in right.items():
        assert accuracy[key] == pytest.approx(100 * correct.mean())
    mean = {c: (right[c, 1] * 1.0 + right[c, 2]) / 2 for c in ("original", "adjusted")}
    expected = stats.ttest_rel(mean["adjusted"], mean["original"])
    extra = values_of(frame[frame.seed.isna()])
    assert extra["accuracy_p_value_vs_original"] == pytest.approx(expected.pvalue)
    assert extra["accuracy_significant_vs_original"] == float(expected.pvalue < 0.05)
    gain = 100 * (mean["adjusted"].mean() - mean["original"].mean())
    assert extra["accuracy_gain_low_vs_original"] < gain < extra["accuracy_gain_high_vs_original"]
    assert extra["accuracy_effect_size_vs_original"] > 0
    assert "accuracy_holm_p_value_vs_original" not in extra
    assert frame["n"].eq(len(GOLD)).all()


def test_corrected_stars_are_holms_over_the_whole_table(tmp_path):
    runs = []
    base = np.random.default_rng(3).random(len(GOLD)) < 0.5
    for task, flips in (("a", 5), ("b", 7), ("c", 20)):
        better = base.copy()
        better[np.flatnonzero(~base)[:flips]] = True
        for condition, right in (("original", base), ("adjusted", better)):
            path = predictions(tmp_path / f"{task}{condition}.parquet", right)
            runs += [
                Cell(task, "nli", "xnli", "en", "es", condition, protocol, 1, path)
                for protocol in ("published", "corrected")
            ]
    frame = measured(runs, against=AGAINST)
    by = frame[frame.seed.isna()].set_index(["metric", "protocol", "task"])["value"]
    p_value, adjusted, star = (
        by[f"accuracy_{what}_vs_original"] for what in ("p_value", "holm_p_value", "significant")
    )
    assert adjusted["corrected"].tolist() == pytest.approx(holm(p_value["corrected"].tolist()))
    assert (star["published"] == (p_value["published"] < 0.05)).all()
    assert (star["corrected"] == (adjusted["corrected"] < 0.05)).all()
    assert p_value["corrected", "b"] < adjusted["corrected", "b"]


def test_gains_over_a_condition_are_paired_by_seed(cells):
    runs, right = cells
    alone = [cell for cell in runs if (cell.condition, cell.seed) != ("adjusted", 2)]
    frame = measured(alone, gains_over="original")
    gains = frame[frame.metric == "gain_over_original"]
    assert gains[["condition", "seed"]].to_numpy().tolist() == [["adjusted", 1]]
    expected = 100 * (right["adjusted", 1].mean() - right["original", 1].mean())
    assert gains["value"].tolist() == pytest.approx([expected])


def test_entities_by_the_code_and_tokens_by_the_text(tmp_path):
    gold = [["B-PER", "I-PER", "O"], ["B-LOC", "O", "O"], ["O", "B-ORG", "I-ORG"]] * 10
    half = [["B-PER", "O", "O"], ["B-LOC", "O", "O"], ["O", "B-ORG", "I-ORG"]] * 10
    none = [["O", "O", "B-LOC"]] * 30
    runs = []
    for condition, tags in (("original", none), ("adjusted", half)):
        path = tmp_path / f"{condition}.parquet"
        hindi = tag_predictions("wikiann", "hi", gold, tags)
        write_parquet(pa.concat_tables([hindi, tag_predictions("wikiann", "en", gold, gold)]), path)
        runs += [
            Cell("ner", "ner", "wikiann", "en", "hi", condition, protocol, seed, str(path))
            for protocol in ("published", "corrected")
            for seed in (1, 2)
        ]
    frame = measured(runs, against=AGAINST)
    published = values_of(frame, protocol="published", condition="adjusted", seed=1)
    corrected = values_of(frame, protocol="corrected", condition="adjusted", seed=1)
    assert published["token_f1"] == pytest.approx(100 * f1_score(gold, half))
    assert published["token_f1"] == published["entity_f1"] == corrected["entity_f1"]
    assert corrected["token_f1"] == pytest.approx(100 * 2 * 40 / (50 + 40))
    tests = values_of(frame[frame.seed.isna()], protocol="published")
    assert tests["token_f1_p_value_vs_original"] == pytest.approx(1 / 1001)
    assert tests["token_f1_gain_low_vs_original"] > 0
    assert "token_f1_effect_size_vs_original" not in tests
    # Without one run of the original, the other seed of both is compared.
    less, alone = (
        measured(cells, against=AGAINST)
        for cells in (runs[1:], [cell for cell in runs if cell.seed == 2])
    )
    tested = ["token_f1_p_value_vs_original", "token_f1_gain_high_vs_original"]
    first, second = (values_of(t[t.seed.isna()], protocol="published") for t in (less, alone))
    assert first[tested].tolist() == second[tested].tolist()


def test_words_are_scored_and_compared_by_language_of_training(tmp_path):
    gold = [["NOUN", "NOUN", "VERB"], ["ADJ", "NOUN"]] * 5
    # The second subword of the first word does not count; of four words one or none is wrong.
    guesses = {
        ("en", "original"): [["NOUN", "VERB", "NOUN"], ["ADJ", "NOUN"]] * 5,
        ("ru+hi", "original"): [["VERB", "NOUN", "NOUN"], ["ADJ", "ADJ"]] * 5,
        ("ru+hi", "adjusted"): gold,
        ("en", "adjusted"): gold,
    }
    runs = []
    for (source, condition), tags in guesses.items():
        path = str(tmp_path / f"{source}{condition}.parquet")
        words = [[0, 0, 1], [0, 1]] * 5
        write_parquet(tag_predictions("ud", "de", gold, tags, words), path)
        runs.append(Cell("pos", "tagging", "ud", source, "de", condition, "published", 1, path))
    frame = measured(runs, against=AGAINST, gains_over="original")
    values = frame.set_index(["source", "condition", "metric"])["value"]
    assert values["en", "original", "accuracy"] == pytest.approx(75)
    assert values["ru+hi", "original", "accuracy"] == pytest.approx(25)
    assert values["ru+hi", "adjusted", "gain_over_original"] == pytest.approx(75)
    assert values["en", "adjusted", "gain_over_original"] == pytest.approx(25)
    right = np.array([1.0, 0.0, 1.0, 1.0] * 5)
    expected = stats.ttest_rel(np.ones(20), right).pvalue
    assert values["en", "adjusted", "accuracy_p_value_vs_original"] == pytest.approx(expected)
    assert frame["n"].eq(20).all()


def spans(dataset, language, asked, gold, prediction):
    return span_predictions(dataset, language, asked, [[text] for text in gold], prediction)


def test_answers_are_found_by_both_languages_and_compared_by_protocol(tmp_path):
    path = str(tmp_path / "p.parquet")
    tables = [
        spans("mlqa", "es", "es", ["el gato negro", "dos"], ["gato negro", "tres"]),
        spans("crossed", "en", "es", ["the cat", "two"], ["cat", "two"]),
        spans("crossed", "en", "hi", ["the cat", "two"], ["dog", "one"]),
        spans("asked", "es", "en", ["el gato"], ["el perro"]),
    ]
    write_parquet(pa.concat_tables(tables), path)
    kind = "qa"
    cell = Cell(
        "mlqa", kind, "mlqa", "en", "es", "original", "published", 1, path, normalisation="mlqa"
    )
    crossed = replace(cell, task="target", dataset="crossed", questions="target")
    asked = replace(cell, task="english", dataset="asked", questions="english")
    both = replace(cell, protocol="corrected")
    frame = measured([cell, both, crossed, asked])
    values = frame.set_index(["task", "protocol", "metric"])["value"]
    assert values["mlqa", "published", "f1"] == pytest.approx(100 * (2 * 2 / 5) / 2)
    assert values["mlqa", "corrected", "f1"] == pytest.approx(50)  # "el" is an article
    assert values["mlqa", "corrected", "exact_match"] == pytest.approx(50)
    assert values["target", "published", "f1"] == 100
    assert values["english", "published", "f1"] == pytest.approx(50)  # SQuAD takes it for a word
    with pytest.raises(AtlasError, match="question_language es: there are none"):
        measured([replace(cell, dataset="asked")])


def test_conditions_on_different_examples_raise_an_error(cells):
    runs, _ = cells
    write_parquet(read_parquet(runs[-1].path).slice(1), runs[-1].path)
    with pytest.raises(AtlasError, match="hold predictions of different examples"):
        measure_transfer(runs, against=AGAINST)
    with pytest.raises(AtlasError, match=r"adjusted2.* and .*original2.* hold predictions of"):
        measure_transfer([*runs[:2], runs[3]], against=AGAINST)


def test_every_task_that_a_table_can_show_has_a_scoring():
    assert {name for name, task in TASKS.items() if task.transfer} == SCORINGS.keys()


def test_measurements_have_only_their_columns(tmp_path):
    with pytest.raises(AtlasError, match=r"unknown columns \['colour'\]"):
        write_measurements([{"colour": "red"}], tmp_path / "m.csv")
    with pytest.raises(AtlasError, match="nothing was measured"):
        write_measurements([], tmp_path / "m.csv")
    rows = [{"value": 1.5, "seed": 3, "protocol": "published"}, {"value": 2}]
    write_measurements(rows, tmp_path / "m.csv", paper="x")
    lines = (tmp_path / "m.csv").read_text().splitlines()
    assert lines[0].startswith("paper,artifact,task")
    assert lines[1] == "x,,,,,,,,,1.5,published,3,"
    assert lines[2:] == ["x,,,,,,,,,2,published,,", "x,,,,,,,,,2,corrected,,"]

"""Scores on resamples of a test set, against the public scorers of resampled tables."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mbert_atlas.analysis.measurements import (
    mean_by,
    read_measurements,
    resamples_path,
    write_measurements,
)
from mbert_atlas.analysis.resampling import (
    RESAMPLED,
    RESAMPLES,
    difference,
    mean_of,
    resampled_mean,
    resampled_sums,
    resamples,
)
from mbert_atlas.analysis.scores import class_scores, sentence_counts, tag_scores, tree_scores
from mbert_atlas.analysis.scoring import scores_of
from mbert_atlas.analysis.transfer import GAIN, measure_transfer
from mbert_atlas.cells import Cell
from mbert_atlas.f1 import micro_f1
from mbert_atlas.files import write_parquet
from mbert_atlas.schemas import (
    CLASS_PREDICTIONS,
    RESAMPLED_MEASUREMENTS,
    SPAN_PREDICTIONS,
    TAG_PREDICTIONS,
    TREE_PREDICTIONS,
)
from mbert_atlas.scorecard.cells import KEY, measured_cells

SOME = (0, 1, RESAMPLES - 1)
N = 60
IDS = [f"id {number:02}" for number in range(N)]


def made_up(kind: str, seed: int = 0) -> pa.Table:
    """Return predictions of N examples of one language, about two thirds of them right."""
    random = np.random.default_rng(seed)
    lengths = np.random.default_rng(9).integers(1, 7, N)
    place = [["test"] * N, ["de"] * N]

    def labels(names: list[str], gold: Any = None) -> Any:
        if gold is None:
            return [np.random.default_rng(8).choice(names, n).tolist() for n in lengths]
        return [
            [x if random.random() < 0.6 else str(random.choice(names)) for x in g] for g in gold
        ]

    if kind == "nli":
        gold = [row[0] for row in labels(["e", "n", "c"])]
        guess = [row[0] for row in labels(["e", "n", "c", "x"], [[label] for label in gold])]
        columns = [*place, IDS, gold, guess, [[1.0]] * N]
        return pa.table(columns, schema=CLASS_PREDICTIONS)
    if kind == "parsing":
        heads = [random.integers(0, 3, n) for n in lengths]
        names = ["root", "obj", "nmod"]
        relations = labels(names)
        guesses = [random.integers(0, 2, n) for n in lengths]
        columns = [*place, IDS, heads, guesses, relations, labels(names, relations)]
        return pa.table(columns, schema=TREE_PREDICTIONS)
    if kind == "qa":
        words = ["cat", "dog", "black"]
        gold = [[" ".join(text)] for text in labels(words)]
        guess = [" ".join(text) for text in labels(words, [text[0].split() for text in gold])]
        return pa.table([*place, ["de"] * N, IDS, gold, guess], schema=SPAN_PREDICTIONS)
    # No tag of one letter: seqeval lets its spans begin in the sentence before.
    names = ["O", "B-PER", "I-PER", "B-LOC"] if kind == "ner" else ["NOUN", "VERB", "ADJ"]
    gold, words = labels(names), [[*range((n + 1) // 2), *range(n // 2)] for n in lengths]
    columns = [*place, IDS, gold, labels(names, gold), [sorted(own) for own in words]]
    return pa.table(columns, schema=TAG_PREDICTIONS)


def repeated(table: pa.Table, times: Any) -> pa.Table:
    """Return a resample: each row as often as it occurs there, under new ids."""
    rows = table.take(np.repeat(np.arange(len(table)), times))
    ids = pa.array([f"{number:03}" for number in range(len(rows))])
    return rows.set_column(rows.column_names.index("example_id"), "example_id", ids)


SCORERS = {
    "classes": (class_scores, "nli", {}),
    "words": (tag_scores, "tagging", {}),
    "subwords": (tag_scores, "tagging", {"unit": "subword"}),
    "entities": (tag_scores, "ner", {}),
    "trees": (tree_scores, "parsing", {}),
}


@pytest.mark.parametrize("name", SCORERS)
def test_scores_are_those_of_resampled_tables(name: str) -> None:
    score, kind, options = SCORERS[name]
    table = made_up(kind)
    found = score(table, resample=True, **options).set_index(["language", "metric"])
    plain = score(table, **options).set_index(["language", "metric"])
    assert found.drop(columns=RESAMPLED).equals(plain)
    times = resamples(IDS)
    for number in SOME:
        expected = score(repeated(table, times[number]), **options)
        for language, metric, value in expected[["language", "metric", "value"]].itertuples(False):
            if language == "de":
                again = found[RESAMPLED]["de", metric]
                assert again[number] == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize("kind", ["nli", "tagging", "ner", "qa", "parsing"])
@pytest.mark.parametrize("protocol", ["published", "corrected"])
def test_scores_of_a_cell_are_those_of_resampled_predictions(
    kind: str, protocol: Any, tmp_path: Path
) -> None:
    table, times = made_up(kind), resamples(IDS)
    write_parquet(table, tmp_path / "all")
    cell = Cell(kind=kind, dataset="test", language="de", protocol=protocol)
    normalisation: Any = {"normalisation": "mlqa"}
    found = scores_of(Cell(**{**vars(cell), "path": str(tmp_path / "all"), **normalisation}))
    for number in SOME:
        path = tmp_path / str(number)
        write_parquet(repeated(table, times[number]), path)
        expected = scores_of(Cell(**{**vars(cell), "path": str(path), **normalisation}))
        assert found.keys() == expected.keys()
        for metric, score in expected.items():
            again = found[metric][RESAMPLED]
            assert (again.dtype, again.shape) == (np.float32, (RESAMPLES,))
            assert again[number] == pytest.approx(score["value"], abs=1e-4)


def test_resamples_belong_to_the_items() -> None:
    values = np.random.default_rng(0).random(N)
    order = np.random.default_rng(1).permutation(N)
    one = resampled_mean(values, IDS)
    assert np.array_equal(one, resampled_mean(values[order], [IDS[place] for place in order]))
    other = resampled_mean(values, [f"{name}'" for name in IDS])
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.2  # 4 standard errors


@pytest.mark.parametrize("at_a_time", [N, 1 << 22])
def test_each_resample_has_as_many_items(at_a_time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mbert_atlas.analysis.resampling._AT_A_TIME", at_a_time)
    ids = [f"{name}, {at_a_time}" for name in IDS]
    times = resamples(ids)
    assert (times.dtype, times.shape) == (np.uint8, (RESAMPLES, N))
    assert (times.sum(axis=1) == N).all()
    # Multinomial: variance 1 - 1/N of each count.
    assert times.var() == pytest.approx(1 - 1 / N, rel=0.05)
    values = np.random.default_rng(0).random((N, 2, 3))
    expected = np.tensordot(times.astype(float), values, axes=1)
    assert resampled_sums(values, ids) == pytest.approx(expected, rel=1e-5)
    # Several rows of an item are drawn together.
    assert resampled_sums(np.concatenate([values, values]), ids * 2) == pytest.approx(
        2 * expected, rel=1e-5
    )


def test_translations_of_a_test_set_are_drawn_together() -> None:
    tables = [made_up("nli"), made_up("nli")]
    tables[1] = tables[1].set_column(1, "language", pa.array(["es"] * N))
    frame = class_scores(pa.concat_tables(tables), resample=True)
    again = frame.set_index(["language", "metric"])[RESAMPLED]
    assert np.array_equal(again["de", "accuracy"], again["es", "accuracy"])
    assert again["all", "accuracy"] == pytest.approx(again["de", "accuracy"], abs=1e-4)


def test_the_spread_is_that_of_a_share() -> None:
    ids = [str(number) for number in range(2000)]
    right = np.arange(2000) < 1400
    spread = resampled_mean(right, ids).std(ddof=1)
    assert spread == pytest.approx((0.7 * 0.3 / 2000) ** 0.5, rel=0.1)  # 3 standard errors


def test_conditions_on_one_test_set_are_paired(tmp_path: Path) -> None:
    cells, right = [], []
    for number, condition in enumerate(("original", "adjusted")):
        table = made_up("nli")
        if condition == "adjusted":  # half of the mistakes are gone
            guess = np.where(np.arange(N) % 2, table["prediction"], table["gold"])
            table = table.set_column(4, "prediction", pa.array(guess.tolist()))
        right.append(np.array(table["gold"]) == np.array(table["prediction"]))
        # in another order, as another job may have written them
        write_parquet(table.take(np.arange(N)[:: 1 - 2 * number]), tmp_path / condition)
        path = str(tmp_path / condition)
        cells += [
            Cell("xnli", "nli", "test", "en", "de", condition, "published", seed, path)
            for seed in (1, 2)
        ]
    rows = measure_transfer(cells, gains_over="original")
    of = {(row["condition"], row["metric"], row["seed"]): row[RESAMPLED] for row in rows}
    gain = of["adjusted", GAIN, 2]
    assert gain == pytest.approx(
        of["adjusted", "accuracy", 1] - of["original", "accuracy", 2], abs=1e-4
    )
    change = 100 * (right[1].astype(float) - right[0])
    assert gain.std() == pytest.approx(change.std() / N**0.5, rel=0.1)
    apart = np.hypot(*(100 * own.std() / N**0.5 for own in right))
    assert gain.std() < 0.75 * apart


def test_no_items_are_no_score() -> None:
    """Resamples without an entity have an F1 of 0, as the scorer of none has."""
    count = 3
    tags = [["B-PER"], ["O"], ["O"]]
    words, ids = [[0]] * count, ["a", "b", "c"]
    table = pa.table([["t"] * 3, ["de"] * 3, ids, tags, tags, words], schema=TAG_PREDICTIONS)
    frame = tag_scores(table, resample=True).set_index(["language", "metric"])[RESAMPLED]
    tokens = 100 * micro_f1(resampled_sums(sentence_counts(table, unit="token"), ids))
    for values in (frame["de", "span_micro_f1"], frame["de", "span_macro_f1"], tokens):
        assert set(values.tolist()) == {0.0, 100.0}
        assert (values == 0).mean() == pytest.approx((2 / 3) ** 3, abs=0.1)


def test_means_and_differences_of_rows() -> None:
    one, two = (np.full(RESAMPLES, value, np.float32) for value in (1, 3))
    rows = [{"value": 1.0, RESAMPLED: one}, {"value": 3.0, RESAMPLED: two}]
    for found in (mean_of(rows), difference(rows[1], rows[0])):
        assert (found["value"], found[RESAMPLED].dtype, {*found[RESAMPLED]}) == (2, np.float32, {2})
    assert mean_of([rows[0], {"value": 2.0}]) == {"value": 1.5}
    frame = pd.DataFrame([row | {"seed": 1, "n": 5, "task": "a"} for row in rows])
    frame = pd.concat([frame, frame.assign(seed=2, resampled=np.nan)])
    means = mean_by(frame, ["task", "seed"], n="sum")
    assert means[["task", "seed", "value", "n"]].to_numpy().tolist() == [
        ["a", 1, 2.0, 10],
        ["a", 2, 2.0, 10],
    ]
    assert set(means[RESAMPLED][0]) == {2}
    assert np.isnan(means[RESAMPLED][1])


def test_resampled_values_go_to_a_second_file(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    values = random.random((2, RESAMPLES)).astype(np.float32)
    rows: list[dict[str, Any]] = [
        {"task": "a", "metric": "las", "value": 1 / 3, "protocol": "published", "seed": 2, "n": 7},
        {"task": "b", "metric": "uas", "value": 2, "protocol": "published", "layers": "1-2"},
        {"task": "c", "metric": "f1", "value": 3, "protocol": "corrected"},
    ]
    write_measurements(rows, tmp_path / "plain.csv", paper="x")
    again = [rows[0] | {RESAMPLED: values[0]}, rows[1], rows[2] | {RESAMPLED: values[1]}]
    write_measurements(again, tmp_path / "again.csv", paper="x")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "plain.csv").read_bytes()
    paths = [resamples_path(tmp_path / name) for name in ("plain.csv", "again.csv")]
    assert paths[1].name == "again.resamples.parquet"
    cells = measured_cells([tmp_path / "again.csv"], paths)
    key = dict.fromkeys(KEY, "") | {"paper": "x"}
    first, last = (
        tuple((key | {name: row[name] for name in ("task", "metric")}).values())
        for row in (rows[0], rows[2])
    )
    having = {
        protocol: {key for key, cell in own.items() if cell.resampled}
        for protocol, own in cells.items()
    }
    assert having == {"published": {first}, "corrected": {last}}
    assert np.array_equal(cells["published"][first].resampled[2], values[0])
    assert np.array_equal(cells["corrected"][last].resampled[None], values[1])
    read = read_measurements(tmp_path / "again.csv", resamples=True)
    assert read.drop(columns=RESAMPLED).equals(read_measurements(tmp_path / "again.csv"))
    assert np.array_equal(read[RESAMPLED][2], values[1])
    assert np.isnan(read[RESAMPLED][1])
    assert RESAMPLED_MEASUREMENTS.names[-1] == RESAMPLED

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from seqeval.metrics import f1_score
from seqeval.metrics.sequence_labeling import get_entities
from sklearn import metrics
from sklearn.dummy import DummyClassifier
from toy_representations import toy_encoder, toy_pairs
from toy_tables import class_predictions, tag_predictions

from mbert_atlas.analysis.distances import (
    Panel,
    derangement,
    sample_pairs,
    summarise,
    word_pair_distances,
)
from mbert_atlas.analysis.scores import class_scores, select, tag_scores
from mbert_atlas.analysis.significance import paired_t_test
from mbert_atlas.arrays import load_arrays, save_arrays
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.f1 import ClassCounts, SpanScorer
from mbert_atlas.files import read_json, read_parquet
from mbert_atlas.schemas import WORD_DISTANCES
from mbert_atlas.training.word_pairs import open_pairs

torch.set_num_threads(1)
labels = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcde")), min_size=1)


# --- scores ---------------------------------------------------------------------------------------


@given(labels)
@settings(max_examples=60, deadline=None)
def test_item_scores_equal_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    gold, predicted = (list(column) for column in zip(*pairs, strict=True))
    counts = ClassCounts.of(gold, predicted)
    f1 = metrics.f1_score
    assert counts.accuracy() == pytest.approx(metrics.accuracy_score(gold, predicted))
    assert counts.macro_f1("union") == pytest.approx(f1(gold, predicted, average="macro"))
    assert counts.macro_f1("present") == pytest.approx(
        f1(gold, predicted, average="macro", labels=sorted(set(gold)))
    )
    assert counts.micro_f1() == pytest.approx(f1(gold, predicted, average="micro"))
    constant = DummyClassifier(strategy="most_frequent").fit(gold, gold)
    assert counts.majority_accuracy() == pytest.approx(constant.score(gold, gold))


def test_class_scores_by_language_and_pooled() -> None:
    table = class_predictions(
        [
            ("xnli", "es", "1", "e", "e"),
            ("xnli", "es", "2", "n", "e"),
            ("xnli", "ru", "1", "c", "c"),
            ("lid", "ru", "1", "ru", "bg"),
        ]
    )
    frame = class_scores(table).set_index(["dataset", "language", "metric"])
    assert frame.loc[("xnli", "es", "accuracy"), "value"] == 50
    assert frame.loc[("xnli", "ru", "accuracy"), "value"] == 100
    assert frame.loc[("xnli", "all", "accuracy"), "value"] == pytest.approx(200 / 3)
    assert frame.loc[("xnli", "all", "accuracy"), "n"] == 3
    assert frame.loc[("lid", "ru", "macro_f1_union"), "value"] == 0
    assert frame.loc[("xnli", "es", "macro_f1_present"), "value"] == pytest.approx(100 / 3)


def _span_f1(gold: list[list[str]], predicted: list[list[str]]) -> dict[str, float]:
    names = sorted({tag for tags in gold + predicted for tag in tags})
    codes = [
        np.array([names.index(t) for tags in side for t in tags]) for side in (gold, predicted)
    ]
    return SpanScorer(names).f1(*codes, np.array([len(tags) for tags in gold]))


@pytest.mark.filterwarnings("ignore:.*seems not to be NE tag")
@given(
    st.lists(
        st.lists(
            st.tuples(
                *[st.sampled_from(["NOUN", "X", "SYM", "INTJ", "B-A", "I-A", "E-B", "O", "S"])] * 2
            ),
            min_size=1,
            max_size=6,
        ),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=300, deadline=None)
def test_span_scores_equal_seqeval(sentences: list[list[tuple[str, str]]]) -> None:
    gold, predicted = ([[pair[side] for pair in pairs] for pairs in sentences] for side in (0, 1))
    found = _span_f1(gold, predicted)
    if not get_entities(gold) and not get_entities(predicted):
        assert found == {"macro": 0.0, "micro": 0.0}
        return
    for average in ("macro", "micro"):
        expected = f1_score(gold, predicted, average=average, zero_division=0)
        assert found[average] == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:.*seems not to be NE tag")
def test_tag_scores() -> None:
    gold = [["NOUN", "VERB", "NOUN"], ["ADJ", "NOUN"], ["VERB"]]
    predicted = [["NOUN", "VERB", "VERB"], ["ADJ", "NOUN"], ["NOUN"]]
    table = tag_predictions("ud", ["en", "en", "hi"], gold, predicted)
    frame = tag_scores(table).set_index(["language", "metric"])
    assert frame.loc[("en", "token_accuracy"), "value"] == 80
    assert frame.loc[("en", "token_accuracy"), "n"] == 5
    assert frame.loc[("hi", "token_accuracy"), "value"] == 0
    assert frame.loc[("all", "token_accuracy"), "value"] == pytest.approx(100 * 4 / 6)
    for average in ("macro", "micro"):
        expected = 100 * f1_score(gold[:2], predicted[:2], average=average)
        assert frame.loc[("en", f"span_{average}_f1"), "value"] == pytest.approx(expected)


def test_words_count_once_or_by_subword() -> None:
    gold = [["NOUN", "NOUN", "NOUN", "VERB"], ["VERB", "VERB"]]
    predicted = [["NOUN", "VERB", "VERB", "VERB"], ["NOUN", "VERB"]]
    # One word of three subwords and one of one; then two words.
    table = tag_predictions("ud", "zh", gold, predicted, [[0, 0, 0, 4], [4, 5]])
    for unit, right, n in (("word", 3, 4), ("subword", 3, 6)):
        scores = tag_scores(table, unit=unit).set_index(["language", "metric"])
        assert scores.loc[("zh", "token_accuracy"), "value"] == pytest.approx(100 * right / n)
        assert scores.loc[("zh", "token_accuracy"), "n"] == n


# --- significance ---------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(3, 40))
@settings(max_examples=30, deadline=None)
def test_paired_t_test_equals_scipy(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    before = random.integers(0, 6, n) / 5
    after = before + random.normal(0.1, 0.3, n)
    found = paired_t_test(before, after)
    expected = stats.ttest_rel(after, before)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert found.difference == pytest.approx(after.mean() - before.mean())
    assert found.effect_size == pytest.approx(expected.statistic / np.sqrt(n))


def test_no_spread_gives_no_warning() -> None:
    scores = np.array([0.2, 0.8, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = paired_t_test(scores, scores)
        better = paired_t_test(np.zeros(4), np.ones(4))
        worse = paired_t_test(np.ones(4), np.zeros(4))
        rounded = paired_t_test(np.array([0.2, 0.4, 0.6]), np.array([0.4, 0.6, 0.8]))
    assert (same.p_value, same.effect_size, same.low) == (1.0, 0.0, 0.0)
    assert (better.p_value, better.effect_size, better.low) == (0.0, np.inf, 1.0)
    assert (worse.p_value, worse.effect_size, worse.high) == (0.0, -np.inf, -1.0)
    assert (rounded.p_value, rounded.effect_size) == (0.0, np.inf)  # the gains differ by 1e-16


def test_selected_examples_are_sorted_by_id() -> None:
    table = class_predictions(
        [("x", "es", "2", "n", "e"), ("x", "es", "1", "e", "e"), ("x", "ru", "1", "e", "n")]
    )
    assert select(table, dataset="x", language="es").equals(table.take([1, 0]))
    with pytest.raises(AtlasError, match="dataset x, language es: an example occurs twice"):
        select(pa.concat_tables([table, table]), dataset="x", language="es")
    with pytest.raises(AtlasError, match="dataset x, language de: there are none"):
        select(table, dataset="x", language="de")


# --- distances ------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 6), min_size=2, max_size=40), st.integers(0, 1000))
@settings(max_examples=80, deadline=None)
def test_derangement(sentences: list[int], seed: int) -> None:
    group = np.array(sentences)
    if 2 * np.bincount(group).max() > len(group):
        with pytest.raises(ValueError, match="one sentence holds"):
            derangement(group, seed)
        return
    other = derangement(group, seed)
    assert sorted(other.tolist()) == list(range(len(group)))
    assert (group[other] != group).all()


def test_separation_and_shares_in_closed_form() -> None:
    related = np.zeros((4, 200), np.float32)
    related[:, 0] = [1, 4, 9, 16]
    unrelated = np.ones((4, 200), np.float32)  # all at distance sqrt(200)
    found = summarise(related, unrelated)
    assert found["related"] == {"n": 4, "mean": pytest.approx(2.5)}
    assert found["mean_ratio"] == pytest.approx(2.5 / np.sqrt(200))
    assert found["separation_auc"] == 1
    shares = found["squared_distance_share"]
    assert shares["top10"] == pytest.approx((34 + 9 * 4) / (800 + 30))
    assert shares["top100"] == pytest.approx((34 + 99 * 4) / (800 + 30))
    even = summarise(unrelated, unrelated)
    assert even["separation_auc"] == 0.5
    assert even["squared_distance_share"] == pytest.approx({"top10": 0.05, "top100": 0.5})


def test_word_pair_distances_equal_a_loop(tmp_path: Path) -> None:
    store = toy_pairs(tmp_path / "store", sentences=30)
    panels = [
        Panel(f"seed {seed}", ["published"], toy_encoder(tmp_path / f"e{seed}", seed=seed))
        for seed in (0, 1)
    ]
    outputs = {"output": tmp_path / "distances.parquet", "summary": tmp_path / "summary.json"}
    word_pair_distances(panels=panels, store=store, pairs=50, seed=5, **outputs)
    frame = read_parquet(tmp_path / "distances.parquet", WORD_DISTANCES).to_pandas()
    assert frame.groupby(["panel", "kind"]).size().tolist() == [50] * 4
    arrays, available = open_pairs(store)
    drawn = sample_pairs(available, 50, 5)
    other = derangement(drawn.sentence, 5)
    summaries = read_json(tmp_path / "summary.json")
    for panel, summary in zip(panels, summaries, strict=True):
        assert (summary["panel"], summary["protocols"]) == (panel.name, ["published"])
        model = load_encoder(panel.folder).eval()

        def vector(side: str, pair: int, model: Any = model) -> torch.Tensor:
            ids = arrays.ragged(f"{side}_ids")[int(drawn.sentence[pair])].astype(np.int64)
            hidden = model(input_ids=torch.from_numpy(ids)[None]).last_hidden_state[0]
            start, end = (getattr(drawn, f"{side}_{name}")[pair] for name in ("start", "end"))
            return hidden[start:end].mean(0)

        with torch.no_grad():
            expected = {
                "related": [(vector("source", k) - vector("target", k)).norm() for k in range(50)],
                "unrelated": [
                    (vector("source", k) - vector("target", int(other[k]))).norm()
                    for k in range(50)
                ],
            }
        for kind, values in expected.items():
            found = frame[(frame["panel"] == panel.name) & (frame["kind"] == kind)]["distance"]
            np.testing.assert_allclose(found, torch.stack(values), rtol=1e-4)
            assert summary[kind]["mean"] == pytest.approx(float(np.mean(values)), rel=1e-4)


def test_pairs_of_one_sentence_cannot_be_unrelated(tmp_path: Path) -> None:
    store = toy_pairs(tmp_path / "store", sentences=1)
    assert len(load_arrays(store).ragged("source_ids")) == 1
    arguments: dict[str, Any] = {
        "panels": [Panel("a", ["published"], toy_encoder(tmp_path / "encoder"))],
        "output": tmp_path / "d.parquet",
        "summary": tmp_path / "s.json",
        "pairs": 10,
        "seed": 1,
    }
    with pytest.raises(DataError, match="hold out more sentences"):
        word_pair_distances(store=store, **arguments)
    save_arrays(tmp_path / "foreign", load_arrays(store).arrays, {"tokenizer_sha256": "0"})
    with pytest.raises(DataError, match="not made with the tokenizer of"):
        word_pair_distances(store=tmp_path / "foreign", **arguments)
    assert not (tmp_path / "d.parquet").exists()

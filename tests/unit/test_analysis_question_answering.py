"""Exact match and token F1 against hand-computed values and the official scripts' behaviour."""

from __future__ import annotations

import re
import string

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mbert_atlas.analysis.question_answering import (
    ANSWER_SCORE_COLUMNS,
    answer_scores,
    answer_tokens,
    mean_answer_scores,
    score_answers,
)
from mbert_atlas.analysis.significance import paired_t_test
from mbert_atlas.errors import AtlasError
from mbert_atlas.schemas import SPAN_PREDICTIONS


def table(rows: list[tuple[list[str], str]], language: str = "en", **columns) -> pa.Table:
    count = len(rows)
    values = {
        "dataset": ["xquad"] * count,
        "language": [language] * count,
        "question_language": ["en"] * count,
        "example_id": [f"q{number}" for number in range(count)],
        "gold": [gold for gold, _ in rows],
        "prediction": [prediction for _, prediction in rows],
    }
    return pa.table({**values, **columns}, schema=SPAN_PREDICTIONS)


@pytest.mark.parametrize(
    ("gold", "prediction", "exact", "f1"),
    [
        (["Denver Broncos"], "The Denver Broncos!", 1, 1),
        (["Denver Broncos"], "Broncos", 0, 2 * 1 * 0.5 / 1.5),
        (["gold", "the gold colour"], "gold colour", 1, 1),  # the best of the gold answers
        (["a cat", "black dog"], "dog black", 0, 1),  # tokens as a bag
        (["dog dog cat"], "dog", 0, 2 * 1 / (1 + 3)),  # each occurrence counts once
        (["dog"], "dog dog cat", 0, 0.5),
        (["yes"], "no", 0, 0),
        (["the"], "a", 1, 0),  # equal and empty: the script's F1 is 0 without a shared token
        (["1990"], "", 0, 0),
        (["Anne"], "anne.", 1, 1),  # articles are whole words
        (["well-known"], "wellknown", 1, 1),  # punctuation leaves no space
        (["24–10"], "2410", 0, 0),  # an en dash is no ASCII punctuation
        (["  two\twords\n"], "two words", 1, 1),
    ],
)
def test_squad_scores_by_hand(gold, prediction, exact, f1):
    scores = score_answers(table([(gold, prediction)]))
    assert scores.exact_match.tolist() == [exact]
    assert scores.f1 == pytest.approx([f1])


def squad_by_the_book(prediction: str, gold: str) -> tuple[float, float]:
    """The definition, step by step: characters, then words, then two bags."""

    def words(text: str) -> list[str]:
        kept = "".join(" "[:0] if c in string.punctuation else c for c in text.lower())
        return [w for w in re.split(r"\s+", re.sub(r"\b(the|an|a)\b", " ", kept)) if w]

    mine, theirs = words(prediction), words(gold)
    left, shared = list(theirs), 0
    for word in mine:
        if word in left:
            left.remove(word)
            shared += 1
    if not shared:
        return float(mine == theirs), 0.0
    precision, recall = shared / len(mine), shared / len(theirs)
    return float(mine == theirs), 2 * precision * recall / (precision + recall)


TEXT = st.lists(
    st.sampled_from(["a", "The", "an", "cat", "Cat", "cat.", "-", "«dog»", "don't", "кот", "的"]),
    max_size=6,
).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(TEXT, st.lists(TEXT, min_size=1, max_size=3))
def test_squad_scores_equal_the_definition(prediction, gold):
    scores = score_answers(table([(gold, prediction)]))
    expected = [squad_by_the_book(prediction, text) for text in gold]
    assert scores.exact_match[0] == max(exact for exact, _ in expected)
    assert scores.f1[0] == pytest.approx(max(f1 for _, f1 in expected))


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("en", "The “Cat” — a cat’s", "cat cats"),  # all Unicode punctuation goes
        ("es", "¿Una casa, la de los Pérez?", "casa de pérez"),
        ("vi", "Những con mèo của tôi là", "con mèo tôi"),
        ("de", "Der Hund einer Frau", "hund frau"),
        ("hi", "ताज महल।", "ताज महल"),
        ("ar", "الكتاب والقلم", "كتاب و قلم"),
        ("zh", "第3章（你好abc de）", "第 3 章 你 好 abc de"),
    ],
)
def test_mlqa_normalisation_by_language(language, text, tokens):
    assert answer_tokens(text, language, "mlqa") == tokens.split()


def test_mlqa_scores_differ_from_squads():
    for language, gold, prediction, squad, mlqa in [
        ("es", "la casa", "casa", 2 / 3, 1),
        ("es", "«casa»", "casa", 0, 1),
        ("zh", "你好吗", "你好", 0, 2 * 2 / (2 + 3)),
        ("hi", "ताज महल।", "ताज महल", 0.5, 1),
        ("de", "a der", "a", 0, 1),  # 'a' is no German article
    ]:
        predictions = table([([gold], prediction)], language)
        assert score_answers(predictions).f1 == pytest.approx([squad])
        assert score_answers(predictions, normalisation="mlqa").f1 == pytest.approx([mlqa])
    with pytest.raises(AtlasError, match="ar, de, en, es, hi, vi, zh, not 'ru'"):
        score_answers(table([(["да"], "да")], "ru"), normalisation="mlqa")


def test_scores_by_dataset_and_both_languages():
    rows = [(["cat"], "cat"), (["cat dog"], "cat"), (["x"], "y"), (["x"], "x")]
    predictions = table(
        rows, language="es", question_language=["es", "es", "en", "es"], dataset=[*"aaab"]
    )
    frame = answer_scores(predictions)
    assert tuple(frame.columns) == ANSWER_SCORE_COLUMNS
    found = {tuple(row[:4]): tuple(row[4:]) for row in frame.itertuples(index=False)}
    assert found == {
        ("a", "es", "en", "exact_match"): (0.0, 1),
        ("a", "es", "en", "f1"): (0.0, 1),
        ("a", "es", "es", "exact_match"): (50.0, 2),
        ("a", "es", "es", "f1"): (pytest.approx(100 * (1 + 2 / 3) / 2), 2),
        ("b", "es", "es", "exact_match"): (100.0, 1),
        ("b", "es", "es", "f1"): (100.0, 1),
    }
    with pytest.raises(AtlasError, match="no predictions to score"):
        answer_scores(predictions.slice(0, 0))
    with pytest.raises(AtlasError, match="question q0 has no gold answer"):
        answer_scores(table([([], "x")]))


def test_means_over_seeds_go_into_the_paired_test():
    first = table([(["cat dog"], "cat"), (["x"], "x"), (["y"], "z")])
    second = table([(["cat dog"], "cat dog"), (["x"], "x"), (["y"], "z")]).take([2, 0, 1])
    keys, scores = mean_answer_scores([first, second], dataset="xquad", language="en")
    assert keys == [f"xquad\ten\ten\tq{number}" for number in range(3)]
    assert scores == pytest.approx([(2 / 3 + 1) / 2, 1, 0])
    _, exact = mean_answer_scores([first, second], metric="exact_match")
    assert exact.tolist() == [0.5, 1, 0]
    assert paired_t_test(scores, np.ones(3)).n == 3

    with pytest.raises(AtlasError, match="run at least one seed"):
        mean_answer_scores([])
    with pytest.raises(AtlasError, match="question_language de: there are none"):
        mean_answer_scores([first], question_language="de")
    with pytest.raises(AtlasError, match="occurs twice"):
        mean_answer_scores([pa.concat_tables([first, first])])
    with pytest.raises(AtlasError, match="different questions"):
        mean_answer_scores([first, first.slice(1)])

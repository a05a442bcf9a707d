"""Exact match and token F1 against hand-computed values and the official scripts' behaviour."""

import pyarrow as pa
import pytest
from toy_tables import span_predictions

from mbert_atlas.analysis.answers import answer_tokens, score_answers
from mbert_atlas.errors import AtlasError


def table(gold: list[str], prediction: str, language: str = "en") -> pa.Table:
    return span_predictions("xquad", language, "en", [gold], [prediction])


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
    scores = score_answers(table(gold, prediction))
    assert scores["exact_match"].tolist() == [exact]
    assert scores["f1"] == pytest.approx([f1])


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
        predictions = table([gold], prediction, language)
        assert score_answers(predictions)["f1"] == pytest.approx([squad])
        assert score_answers(predictions, normalisation="mlqa")["f1"] == pytest.approx([mlqa])
    with pytest.raises(AtlasError, match="ar, de, en, es, hi, vi, zh, not for 'ru'"):
        score_answers(table(["да"], "да", "ru"), normalisation="mlqa")

"""Scores of extracted answers: exact match and token F1, as SQuAD v1.1 and MLQA define them.

Both compare normalised texts. SQuAD's normalisation is for English; MLQA's removes the articles of
its languages and splits Chinese into characters. Scores are from 0 to 1.
"""

from __future__ import annotations

import re
import string
import sys
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mbert_atlas.analysis.scores import select
from mbert_atlas.errors import AtlasError

Floats = npt.NDArray[np.float64]
Normalisation = Literal["squad", "mlqa"]
Metric = Literal["exact_match", "f1"]

_ENGLISH_ARTICLES = "a an the"
_ARTICLES = {
    "en": _ENGLISH_ARTICLES,
    "es": "un una unos unas el la los las",
    "vi": "của là cái chiếc những",
    "de": "ein eine einen einem eines einer der die das den dem des",
    "ar": "",  # a prefix, see answer_tokens
    "hi": "",
    "zh": "",
}
_ARABIC_ARTICLE = "ال"
_CHINESE_CHARACTER = re.compile("([\u4e00-\u9fa5])")


@dataclass(frozen=True)
class AnswerScores:
    """Scores of each prediction, float64, shape ``(n,)``, 0 to 1.

    Attributes:
        exact_match: 1 if the normalised texts are equal for one of the gold answers.
        f1: token F1, the maximum over the gold answers; 0 if no token is shared, even if both are
            empty.
    """

    exact_match: Floats
    f1: Floats


def answer_tokens(text: str, language: str, normalisation: Normalisation = "squad") -> list[str]:
    """Return the tokens of a normalised answer: lower case, no punctuation, no articles.

    SQuAD (evaluate-v1.1.py) removes ASCII punctuation and English articles, whatever the language.
    MLQA (mlqa_evaluation_v1.py) removes all Unicode punctuation and the articles of the answer's
    language; the Arabic one is replaced by a space also inside words. MLQA splits Chinese at each
    character of U+4E00 to U+9FA5.

    Args:
        text: the answer.
        language: its code, which SQuAD ignores.
        normalisation: ``squad`` or ``mlqa``.

    Raises:
        AtlasError: if MLQA has no normalisation of the language.
    """
    if normalisation == "mlqa" and language not in _ARTICLES:
        raise AtlasError(
            f"MLQA's normalisation is defined for {', '.join(sorted(_ARTICLES))}, not for "
            f"{language!r}; score this dataset with SQuAD's normalisation."
        )
    text = text.lower().translate(_punctuation(normalisation))
    articles = _articles(_ENGLISH_ARTICLES if normalisation == "squad" else _ARTICLES[language])
    if articles is not None:
        text = articles.sub(" ", text)
    if normalisation == "mlqa" and language == "ar":
        text = text.replace(_ARABIC_ARTICLE, " ")
    if normalisation == "mlqa" and language == "zh":
        text = _CHINESE_CHARACTER.sub(r" \1 ", text)
    return text.split()


def score_answers(predictions: pa.Table, *, normalisation: Normalisation = "squad") -> AnswerScores:
    """Score each prediction against its gold answers.

    Args:
        predictions: columns as in :data:`mbert_atlas.schemas.SPAN_PREDICTIONS`.
        normalisation: ``squad`` or ``mlqa``, which depends on the language of the context.

    Raises:
        AtlasError: if an example has no gold answer, or as :func:`answer_tokens`.
    """
    exact, f1 = np.zeros(predictions.num_rows), np.zeros(predictions.num_rows)
    columns = ("language", "example_id", "gold", "prediction")
    rows = zip(*(predictions.column(name).to_pylist() for name in columns), strict=True)
    for number, (language, example, gold, prediction) in enumerate(rows):
        if not gold:
            raise AtlasError(
                f"question {example} has no gold answer to score against; remove such questions."
            )
        predicted = answer_tokens(prediction, language, normalisation)
        expected = [answer_tokens(text, language, normalisation) for text in gold]
        exact[number] = predicted in expected
        f1[number] = max(_f1(predicted, tokens) for tokens in expected)
    return AnswerScores(exact, f1)


def scores_by_question(
    run: pa.Table,
    *,
    metric: Metric,
    normalisation: Normalisation,
    dataset: str,
    language: str,
    question_language: str,
) -> tuple[list[str], Floats]:
    """Return the score of each question.

    Args:
        run: table of :data:`mbert_atlas.schemas.SPAN_PREDICTIONS`.
        metric: ``exact_match`` or ``f1``.
        normalisation: see :func:`score_answers`.
        dataset: dataset of the questions.
        language: language of the contexts.
        question_language: language of the questions.

    Returns:
        Ids of the questions, sorted; and the scores, float64, shape ``(n,)``, 0 to 1.

    Raises:
        AtlasError: if there are no such questions, or one occurs twice.
    """
    table = select(run, dataset=dataset, language=language, question_language=question_language)
    scores: Floats = getattr(score_answers(table, normalisation=normalisation), metric)
    return table["example_id"].to_pylist(), scores


def _f1(prediction: list[str], gold: list[str]) -> float:
    shared = (Counter(prediction) & Counter(gold)).total()
    return 2 * shared / (len(prediction) + len(gold)) if shared else 0.0


@cache
def _punctuation(normalisation: Normalisation) -> dict[int, None]:
    removed = set(map(ord, string.punctuation))
    if normalisation == "mlqa":
        codes = range(sys.maxunicode + 1)
        removed |= {code for code in codes if unicodedata.category(chr(code)).startswith("P")}
    return dict.fromkeys(removed)


@cache
def _articles(words: str) -> re.Pattern[str] | None:
    return re.compile(rf"\b({words.replace(' ', '|')})\b") if words else None

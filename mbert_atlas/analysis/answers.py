"""Scores of extracted answers: exact match and token F1, as SQuAD v1.1 and MLQA define them.

Both compare normalised texts. SQuAD's normalisation is for English; MLQA's removes the articles of
its languages and splits Chinese into characters. Scores are from 0 to 1.
"""

import re
import string
import sys
import unicodedata
from collections import Counter
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mbert_atlas.errors import AtlasError

Floats = npt.NDArray[np.float64]
Normalisation = Literal["squad", "mlqa"]

_ARTICLES = {
    "en": "a|an|the",
    "es": "un|una|unos|unas|el|la|los|las",
    "vi": "của|là|cái|chiếc|những",
    "de": "ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des",
    "ar": "",  # a prefix, see answer_tokens
    "hi": "",
    "zh": "",
}


def answer_tokens(text: str, language: str, normalisation: Normalisation = "squad") -> list[str]:
    """Return the tokens of a normalised answer: lower case, no punctuation, no articles.

    SQuAD (evaluate-v1.1.py) removes ASCII punctuation and English articles, whatever the language.
    MLQA (mlqa_evaluation_v1.py) removes Unicode punctuation and the articles of the language, the
    Arabic one also inside words, and splits Chinese at each character of U+4E00 to U+9FA5. Raises
    :class:`AtlasError` if MLQA has no normalisation of the language.
    """
    if normalisation == "mlqa" and language not in _ARTICLES:
        raise AtlasError(
            f"MLQA's normalisation is defined for {', '.join(sorted(_ARTICLES))}, not for "
            f"{language!r}; score this dataset with SQuAD's normalisation."
        )
    text = text.lower().translate(_punctuation(normalisation))
    if articles := _ARTICLES["en" if normalisation == "squad" else language]:
        text = re.sub(rf"\b({articles})\b", " ", text)
    if normalisation == "mlqa" and language == "ar":
        text = text.replace("ال", " ")  # the Arabic article
    if normalisation == "mlqa" and language == "zh":
        text = re.sub("([\u4e00-\u9fa5])", r" \1 ", text)
    return text.split()


def score_answers(
    predictions: pa.Table, *, normalisation: Normalisation = "squad"
) -> dict[str, Floats]:
    """Score each of :data:`mbert_atlas.schemas.SPAN_PREDICTIONS` against its gold answers.

    Returns ``exact_match`` and ``f1``, the best over the gold answers, 0 to 1, float64, shape
    ``(n,)``; without a shared token F1 is 0, even if both texts are empty. Raises
    :class:`AtlasError` as :func:`answer_tokens` of the language of the context.
    """
    exact, f1 = [], []
    for row in predictions.select(["language", "gold", "prediction"]).to_pylist():
        predicted, *expected = (
            answer_tokens(text, row["language"], normalisation)
            for text in (row["prediction"], *row["gold"])
        )
        exact.append(predicted in expected)
        f1.append(max(_f1(predicted, tokens) for tokens in expected))
    return {"exact_match": np.array(exact, np.float64), "f1": np.array(f1, np.float64)}


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

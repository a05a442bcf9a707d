"""How a tokenizer fits a language: the fraction of unknown subwords, and subwords per word."""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.errors import DataError
from mbert_atlas.tokenizer import open_tokenizer, prefixed, special_id, word_prefix

_logger = logging.getLogger(__name__)
MOST_UNKNOWN = 0.05
"""Fraction of [UNK] above which an encoder is an error: where it knows the script it is below 1%,
else most words are unknown."""
_SAMPLE = 500  # examples of a language
_COLUMNS = ("forms", "premise", "context", "text")
"""Columns with words or a text, the first of which is measured."""


def coverage(table: pa.Table, tokenizer_dir: Path | str) -> dict[str, dict[str, float]]:
    """Return ``unknown``, a fraction of subwords, and ``subwords_per_word`` by language.

    They are of the first 500 examples (``language`` and one of several columns), uncut. Words of a
    text are what blanks separate, so that there are few in Thai or Chinese.
    """
    tokenizer = open_tokenizer(tokenizer_dir)
    unknown = special_id(tokenizer, "[UNK]", tokenizer_dir)
    prefix = word_prefix(tokenizer, tokenizer_dir)
    shares: dict[str, dict[str, float]] = {}
    for language, sentences in _samples(table):
        encodings = tokenizer.encode_batch(
            prefixed(sentences, prefix), is_pretokenized=True, add_special_tokens=False
        )
        ids = [number for encoding in encodings for number in encoding.ids]
        words = sum(map(len, sentences))
        shares[language] = {
            "unknown": round(ids.count(unknown) / max(len(ids), 1), 4),
            "subwords_per_word": round(len(ids) / max(words, 1), 3),
        }
    return shares


def _samples(table: pa.Table) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield each language with the words of some of its examples."""
    column = next((name for name in _COLUMNS if name in table.column_names), None)
    if column is None:
        return
    for language in sorted(pc.unique(table["language"]).to_pylist()):
        rows = table.filter(pc.equal(table["language"], language)).slice(0, _SAMPLE)
        texts = rows[column].to_pylist()
        yield language, [text.split() if isinstance(text, str) else text for text in texts]


def require_known(
    shares: Mapping[str, Mapping[str, float]], tokenizer_dir: Path | str, allow_unknown: bool
) -> None:
    """Raise a DataError at languages of which more subwords than ``MOST_UNKNOWN`` are unknown.

    With ``allow_unknown`` that is a warning.
    """
    missing = {code: it["unknown"] for code, it in shares.items() if it["unknown"] > MOST_UNKNOWN}
    if not missing:
        return
    codes = sorted(missing)
    shares_of = " and ".join(f"{missing[code]:.0%}" for code in codes)
    problem = f"{shares_of} of the subwords are [UNK], more than {MOST_UNKNOWN:.0%}"
    if allow_unknown:
        _logger.warning("%s, language %s: %s.", tokenizer_dir, " ".join(codes), problem)
        return
    fix = "take an encoder whose vocabulary has its letters, or write in the config "
    fix += f"`remove_languages: [{', '.join(codes)}]`, or `allow_unknown: true` for the encoder"
    raise DataError(tokenizer_dir, f"language {' '.join(codes)}", problem, fix)

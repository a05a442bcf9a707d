"""How much of a language a tokenizer knows, before any data are here: names of the Unicode CLDR."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pyarrow as pa
from babel import Locale, UnknownLocaleError

from mbert_atlas.encoding.coverage import coverage

MOST_UNKNOWN_NAMES = 0.2
"""Fraction of [UNK] in names above which an encoder is an error; data have up to ``MOST_UNKNOWN``.

Names have letters that texts rarely have. In six of 112 languages mBERT's vocabulary leaves at
least 75% of the subwords unknown, in the others at most 18%, in 101 at most 1%.
"""


def unknown_names(codes: Iterable[str], tokenizer_dir: Path) -> dict[str, float]:
    """Return the fraction of subwords that are [UNK] by language, of those that the CLDR has.

    They are those of the names of languages and territories in the language. ``codes`` are BCP 47.
    """
    rows: list[tuple[str, str]] = []
    for code in codes:
        try:
            locale = Locale.parse(code, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
        names = chain(locale.languages.values(), locale.territories.values())
        rows += [(code, name) for name in names if name]
    table = pa.table({"language": [code for code, _ in rows], "text": [name for _, name in rows]})
    return {code: shares["unknown"] for code, shares in coverage(table, tokenizer_dir).items()}

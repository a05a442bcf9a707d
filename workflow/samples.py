"""How much of a language a tokenizer knows, before any data are here: names of the Unicode CLDR."""

from collections.abc import Collection, Iterable
from itertools import chain
from pathlib import Path

import pyarrow as pa
from babel import Locale, UnknownLocaleError

from mbert_atlas.encoding.coverage import coverage
from mbert_atlas.files import read_json, write_json
from workflow.opening import state_of

MOST_UNKNOWN_NAMES = 0.2
"""Fraction of [UNK] in names above which an encoder is an error; data have up to ``MOST_UNKNOWN``.

Names have letters that texts rarely have. In six of 112 languages mBERT's vocabulary leaves at
least 75% of the subwords unknown, in the others at most 18%, in 101 at most 1%.
"""


SHARES = Path(".snakemake/unknown_names.json")
"""What was found of a tokenizer's folder, with the sizes and times of its files."""


def unknown_names(codes: Collection[str], tokenizer_dir: Path) -> dict[str, float]:
    """Return the fraction of subwords that are [UNK] by language, of those that the CLDR has.

    They are those of the names of languages and territories in the language. ``codes`` are BCP 47.
    A tokenizer is opened once for each state of its folder, as a large one takes a second.
    """
    cache = read_json(SHARES) if SHARES.is_file() else {}
    state = state_of(tokenizer_dir)
    earlier = cache.get(str(tokenizer_dir)) or {}
    shares = earlier["shares"] if earlier.get("state") == state else {}
    if new := [code for code in codes if code not in shares]:
        shares |= dict.fromkeys(new) | _measured(new, tokenizer_dir)
        SHARES.parent.mkdir(exist_ok=True)
        write_json(cache | {str(tokenizer_dir): {"state": state, "shares": shares}}, SHARES)
    return {code: shares[code] for code in codes if shares[code] is not None}


def _measured(codes: Iterable[str], tokenizer_dir: Path) -> dict[str, float]:
    rows: list[tuple[str, str]] = []
    for code in codes:
        try:
            locale = Locale.parse(code, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
        names = chain(locale.languages.values(), locale.territories.values())
        rows += [(code, name) for name in names if name]
    table = pa.table({"language": [code for code, _ in rows], "text": [name for _, name in rows]})
    return {code: found["unknown"] for code, found in coverage(table, tokenizer_dir).items()}

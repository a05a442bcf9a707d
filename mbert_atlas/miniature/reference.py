"""Reference works on the languages: dictionaries (MUSE) and typology (WALS, in CLDF).

Both are known by construction: a dictionary is two citation forms of each concept, a feature of
WALS is a column of ``languages.csv``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from mbert_atlas.miniature.concepts import ADJECTIVES, NOUNS, VERBS
from mbert_atlas.miniature.language import Language

_FEATURES = {
    "20A": ("Fusion of Selected Inflectional Formatives", "fusion"),
    "30A": ("Number of Genders", "genders"),
    "37A": ("Definite Articles", "article"),
    "49A": ("Number of Cases", "cases"),
    "55A": ("Numeral Classifiers", "classifiers"),
    "81A": ("Order of Subject, Object and Verb", "order"),
    "85A": ("Order of Adposition and Noun Phrase", "adposition"),
    "86A": ("Order of Genitive and Noun", "genitive"),
    "87A": ("Order of Adjective and Noun", "adjective"),
    "88A": ("Order of Demonstrative and Noun", "demonstrative"),
    "89A": ("Order of Numeral and Noun", "numeral"),
    "120A": ("Zero Copula for Predicate Nominals", "copula"),
}
"""WALS' number of a feature -> its name, and the column that holds it."""


def dictionary(source: Language, target: Language) -> list[str]:
    """Return rows of a MUSE dictionary: a word and its translation, in lower case."""
    words = (*NOUNS, *VERBS, *ADJECTIVES)
    pairs = ((source.citation(word).lower(), target.citation(word).lower()) for word in words)
    return [" ".join(pair) for pair in dict.fromkeys(pairs)]


def wals(languages: Sequence[Language]) -> dict[str, str]:
    """Return the tables of WALS in CLDF by file name."""
    codes: list[Sequence[object]] = []
    values: list[Sequence[object]] = []
    for feature, (_, column) in _FEATURES.items():
        distinct = list(dict.fromkeys(getattr(one, column) for one in languages))
        for number, value in enumerate(distinct, 1):
            codes.append((f"{feature}-{number}", feature, value, value, number))
        for one in languages:
            number = distinct.index(getattr(one, column)) + 1
            values.append(
                (
                    f"{feature}-{one.wals_code}",
                    one.wals_code,
                    feature,
                    number,
                    f"{feature}-{number}",
                )
            )
    described = [
        (one.wals_code, one.name, *[""] * 4, one.iso639_3, one.family, "", one.genus, "")
        for one in languages
    ]
    features = [(feature, name, "") for feature, (name, _) in _FEATURES.items()]
    names = "ID Name Macroarea Latitude Longitude Glottocode ISO639P3code Family Subfamily Genus"
    return {
        "languages.csv": _table(f"{names} ISO_codes", described),
        "parameters.csv": _table("ID Name Description", features),
        "codes.csv": _table("ID Parameter_ID Name Description Number", codes),
        "values.csv": _table("ID Language_ID Parameter_ID Value Code_ID", values),
    }


def _table(header: str, rows: Iterable[Sequence[object]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([header.split(), *rows])
    return stream.getvalue()

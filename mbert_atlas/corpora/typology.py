"""Typological features of languages: the World Atlas of Language Structures as CLDF tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from mbert_atlas.corpora.bad_rows import BadRows
from mbert_atlas.corpora.cards import Source, write_card
from mbert_atlas.errors import DataError
from mbert_atlas.files import AGAIN, open_text, write_parquet
from mbert_atlas.languages import Language
from mbert_atlas.schemas import TYPOLOGY

_COLUMNS = {
    "languages": ("ID", "Name", "ISO639P3code", "Genus"),
    "values": ("Language_ID", "Parameter_ID", "Code_ID"),
    "codes": ("ID", "Name", "Number"),
}


def read_typology(
    tables: Mapping[str, Path],
    languages: Sequence[Language],
    output: Path | str,
    card: Path | str,
    *,
    source: Source = None,
) -> None:
    """Read the features of some languages.

    A language is found by the id that ``languages.csv`` of the repository gives it, and its ISO
    code, its genus or its name must agree, so that a wrong id does not go unnoticed.

    Args:
        tables: the files ``languages.csv``, ``values.csv`` and ``codes.csv`` by these names
            without their ending.
        languages: those to read; without an id in WALS a language is left out.
        output: Parquet file with the columns of ``schemas.TYPOLOGY``; ``value`` is the number of
            the value in the feature and its name.
        card: JSON file for the dataset card.
        source: dataset, licence and citation for the card.

    Raises:
        DataError: if a column is missing, an id is unknown or is another language's, or no
            language has a feature, or too many values have no code; names the file and the line.
    """
    rows = {name: list(_rows(tables[name], columns)) for name, columns in _COLUMNS.items()}
    known = {row["ID"]: (number, row) for number, row in rows["languages"]}
    wanted: dict[str, list[str]] = {}
    for language in languages:
        if not language.wals_code:
            continue
        if language.wals_code not in known:
            raise DataError(
                tables["languages"],
                f"language {language.code}",
                f"there is no id {language.wals_code!r}",
                "correct wals_code in the table of languages",
            )
        number, row = known[language.wals_code]
        if not _is_same(language, row):
            raise DataError(
                tables["languages"],
                f"line {number}",
                f"{row['Name']} ({row['ISO639P3code']}, {row['Genus']}) is not {language.name} "
                f"({language.iso639_3}, {language.genus})",
                "correct wals_code in the table of languages",
            )
        wanted.setdefault(language.wals_code, []).append(language.code)  # romanised ones too
    names = {row["ID"]: f"{row['Number']} {row['Name']}" for _, row in rows["codes"]}
    found, bad = list[tuple[str, str, str]](), BadRows("values")
    for line, row in rows["values"]:
        if row["Code_ID"] not in names:
            problem = f"the value {row['Code_ID']!r} is in no table of codes"
            mend = "fetch all tables of one release"
            bad.drop(DataError(tables["values"], f"line {line}", problem, mend))
            continue
        value = names[row["Code_ID"]]
        found += [(code, row["Parameter_ID"], value) for code in wanted.get(row["Language_ID"], [])]
    bad.require_few(len(rows["values"]) - bad.reasons.total())
    if not found:
        raise DataError(tables["values"], "", "no language has a feature", AGAIN)
    found.sort()
    columns = [pa.array(values, pa.string()) for values in zip(*found, strict=True)]
    write_parquet(pa.Table.from_arrays(columns, schema=TYPOLOGY), output)
    without = [language.code for language in languages if not language.wals_code]
    write_card(
        card,
        dataset="WALS",
        language=" ".join(code for codes in wanted.values() for code in codes),
        files=tables.values(),
        counts={
            "languages": sum(map(len, wanted.values())),
            "features": len({feature for _, feature, _ in found}),
            "values": len(found),
        },
        dropped={"languages that WALS does not have": len(without)},
        bad=bad,
        source=source,
    )


def features_of(table: pa.Table) -> dict[str, dict[str, str]]:
    """Return of each feature the value of languages, from a table of :func:`read_typology`."""
    found: dict[str, dict[str, str]] = {}
    for row in table.to_pylist():
        found.setdefault(row["feature"], {})[row["language"]] = row["value"]
    return found


def _is_same(language: Language, row: Mapping[str, str]) -> bool:
    own = (language.iso639_3, language.name.lower(), language.genus)
    return any(
        one == other
        for one, other in zip(
            own, (row["ISO639P3code"], row["Name"].lower(), row["Genus"]), strict=True
        )
    )


def _rows(path: Path, columns: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
    with open_text(path) as stream:
        reader = csv.DictReader(stream)
        if missing := [name for name in columns if name not in (reader.fieldnames or ())]:
            raise DataError(path, "line 1", f"no column {missing[0]}", "take WALS's CLDF tables")
        for row in reader:
            yield reader.line_num, row

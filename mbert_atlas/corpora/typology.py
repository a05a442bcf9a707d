"""Typological features of languages: the World Atlas of Language Structures as CLDF tables."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from mbert_atlas.corpora.cards import BadRows, Card
from mbert_atlas.corpora.jobs import ReadingJob
from mbert_atlas.corpora.samples import table_of
from mbert_atlas.errors import DataError
from mbert_atlas.files import AGAIN, open_text, write_parquet
from mbert_atlas.languages import Language
from mbert_atlas.schemas import TYPOLOGY

_COLUMNS = {
    "languages": ("ID", "Name", "ISO639P3code", "Genus"),
    "values": ("Language_ID", "Parameter_ID", "Code_ID"),
    "codes": ("ID", "Name"),
}


def read(job: ReadingJob) -> None:
    """Read the features of all languages, with the columns of ``schemas.TYPOLOGY``.

    The files are ``languages.csv``, ``values.csv`` and ``codes.csv``; ``value`` is the number of
    the value in the feature and its name. A language is found by its ``wals_code``, and its ISO
    code, genus or name must agree: WALS has Oromo as ``Oromo (West-Central)``. A language without
    one is left out. Values without a code are bad rows.

    Raises DataError if a column is missing, or an id is unknown, another language's or there twice.
    """
    origins = job.origins(*job.upstreams)
    tables = {path.name.partition(".")[0]: path for item in job.upstreams for path in item.paths}
    languages = [upstream.language for upstream in job.upstreams]
    rows = {name: list(_rows(tables[name], columns)) for name, columns in _COLUMNS.items()}
    codes = _codes_by_id(languages, rows["languages"], tables["languages"])
    # Releases before 2013 have no column Number; the id ends with it in all of them.
    names = {row["ID"]: f"{row['ID'].rpartition('-')[2]} {row['Name']}" for _, row in rows["codes"]}
    used = [code for some in codes.values() for code in some]
    card = Card("WALS", " ".join(used), bad=BadRows("values"))
    entries: list[tuple[str, str, str]] = []
    for line, row in rows["values"]:
        with card.bad:
            if row["Code_ID"] not in names:
                problem = f"the value {row['Code_ID']!r} is in no table of codes"
                fix = "fetch all tables of one release"
                raise DataError(tables["values"], f"line {line}", problem, fix)
            value = names[row["Code_ID"]]
            entries += [(c, row["Parameter_ID"], value) for c in codes.get(row["Language_ID"], [])]
    card.bad.require_few(len(rows["values"]) - card.bad.reasons.total())
    if not entries:
        raise DataError(tables["values"], "", "no language has a feature", AGAIN)
    features = len({feature for _, feature, _ in entries})
    card.counts.update(languages=len(used), features=features, values=len(entries))
    card.dropped["languages that WALS does not have"] = len(languages) - len(used)
    write_parquet(table_of(sorted(entries), TYPOLOGY), job.output)
    card.write(job.card, tables.values(), origins)


def _codes_by_id(
    languages: Sequence[Language], rows: Sequence[tuple[int, dict[str, str]]], path: Path
) -> dict[str, list[str]]:
    """Return our codes by WALS id: several for a language with romanised texts."""
    codes: dict[str, list[str]] = {}
    for language in (language for language in languages if language.wals_code):
        rows_of_id = [row for row in rows if row[1]["ID"] == language.wals_code]
        if len(rows_of_id) != 1:
            candidates = rows_of_id or [row for row in rows if _has_name(language, row[1])]
            listed = ", ".join(f"{row['ID']} {row['Name']} (line {n})" for n, row in candidates)
            problem = f"there is no id {language.wals_code!r}"
            if rows_of_id:
                problem = f"id {language.wals_code!r} is there {len(rows_of_id)} times"
            fix = AGAIN if rows_of_id else "correct wals_code in the table of languages"
            problem += f": {listed}" if listed else ""
            raise DataError(path, f"language {language.code}", problem, fix)
        ((number, row),) = rows_of_id
        agrees = language.iso639_3 == row["ISO639P3code"] or language.genus == row["Genus"]
        if not (agrees or _has_name(language, row)):
            problem = f"{row['Name']} ({row['ISO639P3code']}, {row['Genus']}) is not "
            problem += f"{language.name} ({language.iso639_3}, {language.genus})"
            fix = "correct wals_code in the table of languages"
            raise DataError(path, f"line {number}", problem, fix)
        codes.setdefault(language.wals_code, []).append(language.code)
    return codes


def _has_name(language: Language, row: dict[str, str]) -> bool:
    """Return whether a row has the language's name, perhaps with a dialect: ``Name (Dialect)``."""
    return f"{row['Name'].lower()} (".startswith(f"{language.name.lower()} (")


def features_of(table: pa.Table) -> dict[str, dict[str, str]]:
    """Return of each feature the value of languages, from a table of :func:`read`."""
    values = table.to_pandas().set_index("language").groupby("feature", sort=False)["value"]
    return {feature: of_languages.to_dict() for feature, of_languages in values}


def _rows(path: Path, columns: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
    with open_text(path) as stream:
        reader = csv.DictReader(stream)
        if missing := [name for name in columns if name not in (reader.fieldnames or ())]:
            raise DataError(path, "line 1", f"no column {missing[0]}", "take WALS's CLDF tables")
        for row in reader:
            yield reader.line_num, row

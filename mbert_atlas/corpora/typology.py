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
    "codes": ("ID", "Name", "Number"),
}


def read(job: ReadingJob) -> None:
    """Read the features of all languages, with the columns of ``schemas.TYPOLOGY``.

    The files are ``languages.csv``, ``values.csv`` and ``codes.csv``; ``value`` is the number of
    the value in the feature and its name. A language is found by its ``wals_code``, and its ISO
    code, genus or name must agree; a language without one is left out. Values without a code are
    bad rows.

    Raises DataError if a column is missing, or an id is unknown or is another language's.
    """
    origins = job.origins(*job.upstreams)
    tables = {path.name.partition(".")[0]: path for item in job.upstreams for path in item.paths}
    languages = [upstream.language for upstream in job.upstreams]
    rows = {name: list(_rows(tables[name], columns)) for name, columns in _COLUMNS.items()}
    codes = _codes_by_id(languages, rows["languages"], tables["languages"])
    names = {row["ID"]: f"{row['Number']} {row['Name']}" for _, row in rows["codes"]}
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
    by_id = {row["ID"]: (number, row) for number, row in rows}
    codes: dict[str, list[str]] = {}
    fix = "correct wals_code in the table of languages"
    for language in (language for language in languages if language.wals_code):
        if language.wals_code not in by_id:
            problem = f"there is no id {language.wals_code!r}"
            raise DataError(path, f"language {language.code}", problem, fix)
        number, row = by_id[language.wals_code]
        if (
            language.iso639_3 != row["ISO639P3code"]
            and language.name.lower() != row["Name"].lower()
            and language.genus != row["Genus"]
        ):
            problem = f"{row['Name']} ({row['ISO639P3code']}, {row['Genus']}) is not "
            problem += f"{language.name} ({language.iso639_3}, {language.genus})"
            raise DataError(path, f"line {number}", problem, fix)
        codes.setdefault(language.wals_code, []).append(language.code)
    return codes


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

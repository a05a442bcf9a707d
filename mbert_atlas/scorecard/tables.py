"""Tables shaped like the papers': reported beside reproduced, languages (or conditions) across."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import atomic_path
from mbert_atlas.scorecard import rules, verdicts

_FACETS = ("task", "model", "source", "target", "layers", "metric", "condition")
_SYMBOLS = {
    rules.REPRODUCED: "✓",
    rules.DIRECTION_ONLY: "≈",
    rules.NOT_REPRODUCED: "✗",
    rules.NOT_COMPARABLE: "≁",
    rules.NO_REPORTED_VALUE: "–",
    rules.NOT_RUN: "○",
    verdicts.HOLDS: "✓",
    verdicts.DOES_NOT_HOLD: "✗",
    verdicts.UNDECIDED: "?",
}


@dataclass(frozen=True)
class Cell:
    """One printed number.

    Attributes:
        number: the value as printed, empty if there is none.
        star: ``*`` or ``**`` if it differs significantly, see :func:`rules.star`.
        spread: ``± standard deviation`` over seeds, empty below two seeds.
        verdict: empty for the paper's own number.
        details: seeds, items and difference, for a tooltip; empty for the paper's own number.
    """

    number: str = ""
    star: str = ""
    spread: str = ""
    verdict: str = ""
    details: str = ""

    def __str__(self) -> str:
        return f"{self.number}{self.star} {self.spread}".strip()


@dataclass(frozen=True)
class Line:
    """One line of a table: the paper's numbers or ours under one protocol.

    Attributes:
        version: ``reported``, ``published`` or ``corrected``.
        cells: one per column.
    """

    version: str
    cells: list[Cell]


@dataclass(frozen=True)
class Table:
    """The cells of one kind of an artifact, laid out.

    Attributes:
        kind: ``value``, ``claim`` or ``extra``.
        across: the facet whose values are the columns.
        common: facets that are the same for all cells, as readable text.
        row_facets: names of the facets that tell the rows apart.
        columns: readable headings.
        rows: for each row its facets' texts and its lines.
    """

    kind: str
    across: str
    common: dict[str, str]
    row_facets: list[str]
    columns: list[str]
    rows: list[tuple[list[str], list[Line]]]

    @property
    def has_ours(self) -> bool:
        """Whether any line holds a number of ours."""
        return any(line.version != "reported" for _, lines in self.rows for line in lines)


def artifact_name(artifact: str) -> str:
    """Return ``table2`` as ``Table 2``, ``appendixA`` as ``Appendix A``."""
    match = re.fullmatch(r"([a-z]+)[_ ]?([A-Z0-9][A-Za-z0-9.]*)", artifact)
    return f"{match[1].capitalize()} {match[2]}" if match else readable(artifact)


def readable(text: str) -> str:
    """Return an identifier with its underscores as spaces."""
    return text.replace("_", " ")


def language_name(codes: str, names: Mapping[str, str]) -> str:
    """Return ``en+de`` as ``English + German``; what is no language code stays as it is."""
    return " + ".join(names.get(code, readable(code)) for code in codes.split("+"))


def lay_out(
    cells: pd.DataFrame,
    names: Mapping[str, str],
    contrasts: Sequence[rules.Contrast] = (),
    artifact: pd.DataFrame | None = None,
) -> list[Table]:
    """Lay rows of one artifact of the scorecard out as the paper would.

    Columns are target languages if there are several, else conditions. Values, claims and extras
    come in tables of their own.

    Args:
        cells: rows of the scorecard, all of one paper and artifact.
        names: language code to English name.
        contrasts: the paper's claims; they decide how a significant difference is marked.
        artifact: all rows of the artifact if ``cells`` are a part of them; they decide what goes
            across and the order of the columns.
    """
    artifact = cells if artifact is None else artifact
    across = next(
        (facet for facet in ("target", "condition") if artifact[facet].nunique() > 1), "target"
    )
    return [
        _one_table(of_kind, str(kind), across, names, contrasts, artifact)
        for kind, of_kind in cells.groupby("kind", sort=False)
    ]


def _facet_texts(cells: pd.DataFrame, kind: str, names: Mapping[str, str]) -> pd.DataFrame:
    texts = cells[list(_FACETS)].copy()
    for facet in ("source", "target"):
        texts[facet] = texts[facet].map(lambda codes: language_name(codes, names))
    if kind == "claim":  # f1_minus_original of adjusted: f1 of adjusted − original
        parts = texts["metric"].str.split("_minus_", n=1)
        texts["metric"] = parts.str[0]
        texts["condition"] = texts["condition"] + " − " + parts.str[1]
    return texts.map(readable)


def _one_table(
    cells: pd.DataFrame,
    kind: str,
    across: str,
    names: Mapping[str, str],
    contrasts: Sequence[rules.Contrast],
    artifact: pd.DataFrame,
) -> Table:
    texts = _facet_texts(cells, kind, names)
    varies = texts.nunique() > 1
    row_facets = [facet for facet in _FACETS if facet != across and varies[facet]]
    common = {
        facet: texts[facet].iloc[0]
        for facet in _FACETS
        if facet != across and not varies[facet] and texts[facet].iloc[0]
    }
    present = set(texts[across])
    of_kind = artifact[artifact["kind"] == kind]
    ordered = dict.fromkeys(_facet_texts(of_kind, kind, names)[across])
    columns = [column for column in ordered if column in present]
    rows: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    for record, row_text, column in zip(
        cells.to_dict("records"),
        texts[row_facets].itertuples(index=False, name=None),
        texts[across],
        strict=True,
    ):
        rows.setdefault(row_text, {})[column] = {str(k): v for k, v in record.items()}
    laid_out = []
    for row_text, by_column in rows.items():
        lines = [
            Line(
                version,
                [
                    _cell(by_column[column], version, contrasts) if column in by_column else Cell()
                    for column in columns
                ],
            )
            for version in ("reported", *PROTOCOLS)
        ]
        laid_out.append((list(row_text), [line for line in lines if any(map(str, line.cells))]))
    return Table(kind, across, common, row_facets, columns, laid_out)


def _cell(record: Mapping[str, Any], version: str, contrasts: Sequence[rules.Contrast]) -> Cell:
    metric, condition = record["metric"], record["condition"]
    mark = rules.star(contrasts, record["artifact"], condition)
    if version == "reported":
        star = mark if record["reported_significant"] is True else ""
        return Cell(rules.printed(record["reported"], metric, condition), star)
    mean, std = record[f"{version}_mean"], record[f"{version}_std"]
    if math.isnan(mean):
        return Cell()
    seeds, items = record[f"{version}_n_seeds"], record[f"{version}_n_items"]
    verdict = record[f"{version}_verdict"]
    details = [verdict]
    if not math.isnan(record["reported"]):
        difference = record[f"{version}_difference"]
        details.append(f"difference to the paper {difference:+.4g}")
    if seeds:
        details.append(f"{seeds} seed{'s' if seeds > 1 else ''}")
    if not pd.isna(items):
        details.append(f"{items:,} items")
    return Cell(
        rules.printed(mean, metric, condition),
        mark if record[f"{version}_significant"] is True else "",
        "" if math.isnan(std) else f"± {rules.printed_spread(std, metric, condition)}",
        verdict,
        ", ".join(details),
    )


def environment() -> Environment:
    """Return the templates of this package with the filters that they use."""
    templates = Environment(
        loader=PackageLoader("mbert_atlas.scorecard", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "artifact_name": artifact_name,
        "minus": lambda number: number.replace("-", "−", 1),  # as wide as a plus
    }
    templates.globals |= {
        "symbols": _SYMBOLS,
        "verdicts": rules.VERDICTS,
        "plurals": {verdicts.HOLDS: "hold", verdicts.DOES_NOT_HOLD: "do not hold"},
    }
    return templates


def write_tables(
    cells: pd.DataFrame,
    *,
    title: str,
    contrasts: Sequence[rules.Contrast],
    csv_path: Path,
    html_path: Path,
    names: Mapping[str, str],
    comparable: bool,
    facts: Sequence[Mapping[str, str]] = (),
) -> None:
    """Write one artifact as a CSV file and as a page of its own.

    Claims that compare it with another artifact are left to the scorecard: an artifact is made from
    its own measurements, so that it needs none of the other's runs.

    The CSV has one line per row and version (reported, published, corrected), numbers as the
    paper prints them, with stars and the standard deviation over seeds.

    Args:
        cells: the rows of what :func:`.compare.compare` returns that are of this artifact.
        title: goes above the page.
        contrasts: the paper's claims.
        csv_path: where the CSV goes.
        html_path: where the page goes.
        names: language code to English name.
        comparable: whether the numbers may be held against the paper's; else the page warns.
        facts: rows of a table that goes before the numbers, each by heading; all with the same.

    Raises:
        AtlasError: if there are no rows, or the disk is full.
    """
    if cells.empty:
        raise AtlasError(f"{title}: the scorecard has no such artifact; check its name.")
    artifact = cells["artifact"].iloc[0]
    for contrast in contrasts:
        if contrast.artifact == artifact and contrast.beside:
            of_claim = cells["metric"].str.endswith(f"_minus_{contrast.baseline}")
            cells = cells[~(of_claim & (cells["condition"] == contrast.condition))]
    tables = lay_out(cells, names, contrasts)
    _write_csv(tables, csv_path)
    page = environment().get_template("table.html.j2")
    with atomic_path(html_path) as temporary:
        text = page.render(title=title, tables=tables, comparable=comparable, facts=facts)
        temporary.write_text(text, encoding="utf-8")


def _write_csv(tables: Sequence[Table], path: Path) -> None:
    facets = [facet for facet in _FACETS if facet != tables[0].across]
    columns = list(dict.fromkeys(column for table in tables for column in table.columns))
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["kind", *facets, "version", *columns])
        for table in tables:
            for texts, lines in table.rows:
                shown = table.common | dict(zip(table.row_facets, texts, strict=True))
                head = [table.kind, *(shown.get(facet, "") for facet in facets)]
                for line in lines:
                    numbers = dict(zip(table.columns, map(str, line.cells), strict=True))
                    row = [numbers.get(column, "") for column in columns]
                    writer.writerow([*head, line.version, *row])

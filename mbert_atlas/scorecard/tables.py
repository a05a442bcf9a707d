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
from mbert_atlas.labels import label, language
from mbert_atlas.scorecard import rules, verdicts

_FACETS = ("task", "model", "source", "target", "layers", "metric", "condition")
_COLUMNS = ("target", "metric", "layers", "condition", "task")  # what may go across, first wins
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


_MOST_COLUMNS = 8
"""As many fit on 1280 pixels beside the names of the rows."""


@dataclass(frozen=True)
class Ours:
    """A number of ours under one protocol.

    Attributes:
        number: the value as printed.
        star: ``*`` or ``**`` if it differs significantly, see :func:`rules.star`.
        spread: ``± standard deviation`` over seeds, empty below two seeds.
        difference: to the reported value, with its sign; empty if there is none.
        verdict: one of :data:`.rules.VERDICTS`.
        details: protocol, verdict, seeds and items, for a tooltip.
    """

    number: str
    star: str
    spread: str
    difference: str
    verdict: str
    details: str

    def __str__(self) -> str:
        return f"{self.number}{self.star} {self.spread}".strip()


@dataclass(frozen=True)
class Entry:
    """What there is for one place of a table.

    Attributes:
        reported: the paper's number with its star; empty if it has none.
        ours: by protocol; protocols that did not run are left out.
    """

    reported: str
    ours: dict[str, Ours]


@dataclass(frozen=True)
class Table:
    """The cells of one kind of an artifact, laid out.

    Attributes:
        kind: ``value``, ``claim`` or ``extra``.
        across: the facet whose values are the columns.
        common: facets that are the same for all cells, as readable text.
        row_facets: names of the facets that tell the rows apart.
        columns: readable headings.
        rows: for each row its facets' texts and its cells, one per column; none where there is
            nothing.
    """

    kind: str
    across: str
    common: dict[str, str]
    row_facets: list[str]
    columns: list[str]
    rows: list[tuple[list[str], list[Entry | None]]]

    @property
    def protocols(self) -> list[str]:
        """Those that any cell has a number of; the first alone where they agree in all numbers."""
        cells = [cell for _, row in self.rows for cell in row if cell]
        found: list[str] = [name for name in PROTOCOLS if any(name in cell.ours for cell in cells)]
        return found[:1] if self.agrees else found

    @property
    def agrees(self) -> bool:
        """Whether the protocols have the same numbers."""
        own = [list(map(str, cell.ours.values())) for _, row in self.rows for cell in row if cell]
        own = [texts for texts in own if texts]
        return bool(own) and all(
            len(texts) == len(PROTOCOLS) and len({*texts}) == 1 for texts in own
        )

    @property
    def size(self) -> int:
        """The number of its cells."""
        return sum(cell is not None for _, row in self.rows for cell in row)

    @property
    def has_reported(self) -> bool:
        """Whether any cell has a number of the paper's."""
        return any(cell.reported for _, row in self.rows for cell in row if cell)


def artifact_name(artifact: str) -> str:
    """Return ``table2`` as ``Table 2``, ``appendixA`` as ``Appendix A``."""
    match = re.fullmatch(r"([a-z]+)[_ ]?([A-Z0-9][A-Za-z0-9.]*)", artifact)
    return f"{match[1].capitalize()} {match[2]}" if match else label(artifact)


def lay_out(
    cells: pd.DataFrame,
    names: Mapping[str, str],
    contrasts: Sequence[rules.Contrast] = (),
    artifact: pd.DataFrame | None = None,
    conditions: Mapping[str, str] | None = None,
) -> list[Table]:
    """Lay rows of one artifact of the scorecard out as the paper would.

    Columns are target languages if there are several and they fit, else what makes the fewest rows.
    Values, claims and extras come in tables of their own.

    Args:
        cells: rows of the scorecard, all of one paper and artifact.
        names: language code to English name.
        contrasts: the paper's claims; they decide how a significant difference is marked.
        artifact: all rows of the artifact if ``cells`` are a part of them; they decide what goes
            across and the order of the columns.
        conditions: what conditions are called here; others have their usual label.
    """
    artifact = cells if artifact is None else artifact
    return [
        _one_table(
            of_kind,
            str(kind),
            names,
            contrasts,
            artifact[artifact["kind"] == kind],
            conditions or {},
        )
        for kind, of_kind in cells.groupby("kind", sort=False)
    ]


def _across(texts: pd.DataFrame) -> str:
    """Return the facet that goes across."""
    varies = texts.nunique()
    if 1 < varies["target"] <= _MOST_COLUMNS and varies["metric"] == 1:
        return "target"
    fits = [facet for facet in _COLUMNS if varies[facet] <= _MOST_COLUMNS] or [*_COLUMNS]

    def rows(facet: str) -> int:
        return len(texts.drop(columns=[facet, *_follow(texts, facet)]).drop_duplicates())

    return min(fits, key=rows)


def _follow(texts: pd.DataFrame, across: str) -> list[str]:
    """Return the facets that vary, but not within a column: they belong into its heading."""
    if texts[across].nunique() == 1:
        return []
    within = texts.groupby(across).nunique().max()
    return [facet for facet in within.index if within[facet] == 1 and texts[facet].nunique() > 1]


def _facet_texts(
    cells: pd.DataFrame, kind: str, names: Mapping[str, str], conditions: Mapping[str, str]
) -> pd.DataFrame:
    texts = cells[list(_FACETS)].copy()
    for facet in ("source", "target"):
        texts[facet] = texts[facet].map(lambda codes: language(codes, names))
    base = pd.Series("", texts.index)
    if kind == "claim":  # f1_minus_original of adjusted: f1 of adjusted − original
        parts = texts["metric"].str.split("_minus_", n=1)
        texts["metric"] = parts.str[0]
        base = " − " + parts.str[1].map(lambda name: label(name, conditions))
    texts["condition"] = texts["condition"].map(lambda name: label(name, conditions)) + base
    for facet in ("task", "model", "metric"):
        texts[facet] = texts[facet].map(label)
    return texts


def _one_table(
    cells: pd.DataFrame,
    kind: str,
    names: Mapping[str, str],
    contrasts: Sequence[rules.Contrast],
    artifact: pd.DataFrame,
    conditions: Mapping[str, str],
) -> Table:
    texts = _facet_texts(cells, kind, names, conditions)
    of_all = _facet_texts(artifact, kind, names, conditions)
    across = _across(of_all)
    in_heading = [across, *_follow(of_all, across)]
    headings, of_all_headings = (
        [", ".join(filter(None, row)) for row in part[in_heading].itertuples(index=False)]
        for part in (texts, of_all)
    )
    varies = texts.nunique() > 1
    row_facets = [facet for facet in _FACETS if facet not in in_heading and varies[facet]]
    common = {
        facet: texts[facet].iloc[0]
        for facet in _FACETS
        if facet not in in_heading and not varies[facet] and texts[facet].iloc[0]
    }
    present = set(headings)
    columns = [column for column in dict.fromkeys(of_all_headings) if column in present]
    rows: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    for record, row_text, column in zip(
        cells.to_dict("records"),
        texts[row_facets].itertuples(index=False, name=None),
        headings,
        strict=True,
    ):
        rows.setdefault(row_text, {})[column] = {str(k): v for k, v in record.items()}
    laid_out = [
        (
            list(row_text),
            [
                _cell(by_column[column], contrasts) if column in by_column else None
                for column in columns
            ],
        )
        for row_text, by_column in rows.items()
    ]
    return Table(kind, across, common, row_facets, columns, laid_out)


def _cell(record: Mapping[str, Any], contrasts: Sequence[rules.Contrast]) -> Entry:
    metric, condition = record["metric"], record["condition"]
    mark = rules.star(contrasts, record["artifact"], condition)
    star = mark if record["reported_significant"] is True else ""
    reported = rules.printed(record["reported"], metric, condition) + star
    ours: dict[str, Ours] = {
        protocol: _ours(record, protocol, mark)
        for protocol in PROTOCOLS
        if not math.isnan(record[f"{protocol}_mean"])
    }
    return Entry(reported, ours)


def _ours(record: Mapping[str, Any], protocol: str, mark: str) -> Ours:
    metric, condition = record["metric"], record["condition"]
    std, difference = record[f"{protocol}_std"], record[f"{protocol}_difference"]
    seeds, items = record[f"{protocol}_n_seeds"], record[f"{protocol}_n_items"]
    verdict = record[f"{protocol}_verdict"]
    details = [protocol if verdict == rules.NO_REPORTED_VALUE else f"{protocol}: {verdict}"]
    if seeds:
        details.append(f"{seeds} seed{'s' if seeds > 1 else ''}")
    if not pd.isna(items):
        details.append(f"{items:,} items")
    size = rules.printed_spread(abs(difference), metric, condition)
    return Ours(
        rules.printed(record[f"{protocol}_mean"], metric, condition),
        mark if record[f"{protocol}_significant"] is True else "",
        "" if math.isnan(std) else f"± {rules.printed_spread(std, metric, condition)}",
        f"{'-' if difference < 0 else '+'}{size}" if size else "",
        verdict,
        ", ".join(details),
    )


def was_run(cells: pd.DataFrame) -> pd.Series[bool]:
    """Tell which rows of a scorecard have a number of ours."""
    return cells[[f"{protocol}_mean" for protocol in PROTOCOLS]].notna().any(axis=1)


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
        "all_protocols": PROTOCOLS,
        "judged": (rules.REPRODUCED, rules.DIRECTION_ONLY, rules.NOT_REPRODUCED),
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
    conditions: Mapping[str, str] | None = None,
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
        conditions: what conditions are called here; others have their usual label.

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
    _write_csv(lay_out(cells, names, contrasts, conditions=conditions), csv_path)
    run = was_run(cells)
    tables, not_run = (
        lay_out(part, names, contrasts, cells, conditions) for part in (cells[run], cells[~run])
    )
    page = environment().get_template("table.html.j2")
    with atomic_path(html_path) as temporary:
        text = page.render(
            title=title, tables=tables, not_run=not_run, comparable=comparable, facts=facts
        )
        temporary.write_text(text, encoding="utf-8")


def _write_csv(tables: Sequence[Table], path: Path) -> None:
    """Write a line per row and version; each table's columns are those that some table has."""
    facets = [facet for facet in _FACETS if any(facet in _facets_of(table) for table in tables)]
    columns = list(dict.fromkeys(column for table in tables for column in table.columns))
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["kind", *facets, "version", *columns])
        for table in tables:
            for texts, cells in table.rows:
                shown = table.common | dict(zip(table.row_facets, texts, strict=True))
                head = [table.kind, *(shown.get(facet, "") for facet in facets)]
                for version in ("reported", *PROTOCOLS):
                    numbers = {
                        column: cell.reported if version == "reported" else str(cell.ours[version])
                        for column, cell in zip(table.columns, cells, strict=True)
                        if cell and (version == "reported" or version in cell.ours)
                    }
                    if any(numbers.values()):
                        row = [numbers.get(column, "") for column in columns]
                        writer.writerow([*head, version, *row])


def _facets_of(table: Table) -> list[str]:
    return [*table.common, *table.row_facets]

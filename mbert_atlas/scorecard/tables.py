"""Tables shaped like the papers': reported next to reproduced, languages (or conditions) across."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.files import read_json
from mbert_atlas.labels import label, language
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.cells import write_csv
from mbert_atlas.scorecard.compare import OF_PROTOCOL
from mbert_atlas.scorecard.templates import Labels, Setting, render

_FACETS = ("task", "model", "source", "target", "layers", "metric", "condition")
_COLUMNS = ("target", "metric", "layers", "condition", "task")  # what may go across, first wins
_SCORES = {
    **{"AER": "aer", "precision": "precision", "recall": "recall", "F1": "f1"},
    "right training pairs": "pairs_right",
}
_COUNTS = {"gold sentences": "sentences", "predicted links": "links"}
_MOST_COLUMNS = 8  # as many fit on 1280 pixels next to the names of the rows


@dataclass(frozen=True)
class Ours:
    """A measured number under one protocol."""

    number: str  # as printed
    star: str  # of a significant difference, see :func:`rules.star`
    spread: str  # ± standard deviation over seeds, empty below two seeds
    difference: str  # to the reported value, with its sign; empty if there is none
    verdict: str
    details: str  # protocol, verdict, seeds and items, for a tooltip
    interval: str = ""  # ``[low, high]``, if the cells have ``<protocol>_low`` and ``_high``

    def __str__(self) -> str:
        return f"{self.number}{self.star} {self.spread}".strip()


@dataclass(frozen=True)
class Entry:
    """One place of a table."""

    reported: str  # with its star; empty if the paper has no number
    ours: dict[str, Ours]  # by protocol; those that did not run are left out

    def text(self, version: str) -> str:
        """Return the number that is ``reported``, or that of a protocol; empty if there is none."""
        return self.reported if version == "reported" else str(self.ours.get(version, ""))


@dataclass(frozen=True)
class Table:
    """The cells of one kind of an artifact, laid out; pages read each property in every cell."""

    kind: str  # value, claim or extra
    common: dict[str, str]  # texts of the facets that are the same for all cells
    row_facets: list[str]  # names of the facets that distinguish the rows
    columns: list[str]  # headings
    rows: list[tuple[list[str], list[Entry | None]]]  # texts of the facets, and a cell per column
    reason: str = ""  # why its cells cannot be reproduced here

    @cached_property
    def entries(self) -> list[Entry]:
        """Its cells."""
        return [cell for _, row in self.rows for cell in row if cell]

    @cached_property
    def protocols(self) -> list[str]:
        """Those with a number in any cell; only the first if they agree in all numbers."""
        names = [str(name) for name in PROTOCOLS if any(name in cell.ours for cell in self.entries)]
        return names[:1] if self.agrees else names

    @cached_property
    def agrees(self) -> bool:
        """Whether the protocols have the same numbers."""
        texts = [list(map(str, cell.ours.values())) for cell in self.entries if cell.ours]
        return bool(texts) and all(len(row) == len(PROTOCOLS) and len({*row}) == 1 for row in texts)

    @cached_property
    def has_reported(self) -> bool:
        """Whether any cell has a number of the paper's."""
        return any(cell.reported for cell in self.entries)

    @property
    def in_small(self) -> str:
        """What is printed small below a number; empty if nothing is."""
        ours = [one for cell in self.entries for one in cell.ours.values()]
        words = {
            "± standard deviation over seeds": any(one.spread for one in ours),
            "difference from the paper's number": any(one.difference for one in ours),
        }
        return " · ".join(text for text, is_there in words.items() if is_there)


def lay_out(
    cells: pd.DataFrame, labels: Labels, artifact: pd.DataFrame | None = None
) -> list[Table]:
    """Lay rows of one artifact of the scorecard out as the paper would.

    Columns are target languages if there are several and they fit, else the facet that gives the
    fewest rows. Values, claims, extras, and cells with a reason are separate tables.

    The cells are rows of the scorecard, of one paper and artifact; ``artifact`` are all of its rows
    if these are some, and decides the columns.
    """
    artifact = cells if artifact is None else artifact
    return [
        _one_table(some, str(kind), labels, artifact[artifact["kind"] == kind], str(reason))
        for (kind, reason), some in cells.groupby(["kind", "reason"], sort=False)
    ]


def lay_out_parts(rows: pd.DataFrame, labels: Labels) -> tuple[list[Table], list[Table]]:
    """Lay out the cells of an artifact that were run, and those that were not."""
    run = was_run(rows)
    return lay_out(rows[run], labels, rows), lay_out(rows[~run], labels, rows)


def was_run(cells: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows of a scorecard have a measured number."""
    return cells[[f"{protocol}_mean" for protocol in PROTOCOLS]].notna().any(axis=1)


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


def _facet_texts(cells: pd.DataFrame, labels: Labels) -> pd.DataFrame:
    texts = cells[list(_FACETS)].copy()
    for facet in ("source", "target"):
        texts[facet] = texts[facet].map(lambda codes: language(codes, labels.places))
    # f1_minus_original of adjusted: f1 of adjusted − original
    parts = texts["metric"].str.partition("_minus_")
    texts["metric"] = parts[0]
    condition = texts["condition"].map(lambda name: label(name, labels.conditions))
    baseline = parts[2].map(lambda name: name and f" − {label(name, labels.conditions)}")
    texts["condition"] = condition + baseline
    texts["model"] = texts["model"].map(lambda name: label(name, labels.models))
    for facet in ("task", "metric"):
        texts[facet] = texts[facet].map(label)
    return texts


def _one_table(
    cells: pd.DataFrame, kind: str, labels: Labels, artifact: pd.DataFrame, reason: str
) -> Table:
    of_all = _facet_texts(artifact, labels)
    across = _across(of_all)
    in_heading = [across, *_follow(of_all, across)]
    rows_of_headings = of_all[in_heading].itertuples(index=False)
    of_all["heading"] = [", ".join(filter(None, row)) for row in rows_of_headings]
    texts = of_all.loc[cells.index]
    columns = [column for column in of_all["heading"].unique() if column in {*texts["heading"]}]
    others = [facet for facet in _FACETS if facet not in in_heading]
    row_facets = [facet for facet in others if texts[facet].nunique() > 1]
    same = texts.iloc[0][[facet for facet in others if facet not in row_facets]]
    common = {str(facet): text for facet, text in same.items() if text}
    row_texts = texts[row_facets].itertuples(index=False, name=None)
    rows: dict[tuple[str, ...], dict[str, Entry]] = {}
    for record, row, column in zip(
        cells.to_dict("records"), row_texts, texts["heading"], strict=True
    ):
        rows.setdefault(row, {})[column] = _entry(record, labels.contrasts)
    laid_out = [(list(row), list(map(entries.get, columns))) for row, entries in rows.items()]
    return Table(kind, common, row_facets, columns, laid_out, reason)


def _entry(record: Mapping[Any, Any], contrasts: Sequence[rules.Contrast]) -> Entry:
    metric, condition = record["metric"], record["condition"]
    mark = rules.star(contrasts, record["artifact"], condition)
    ours: dict[str, Ours] = {}
    for protocol in PROTOCOLS:
        mean, std, seeds, items, significant, difference, verdict = (
            record[f"{protocol}_{column}"] for column in OF_PROTOCOL
        )
        if math.isnan(mean):
            continue
        details = [protocol if verdict == rules.NO_REPORTED_VALUE else f"{protocol}: {verdict}"]
        details += [f"{seeds} seed{'s' if seeds > 1 else ''}"] if seeds else []
        details += [] if pd.isna(items) else [f"{items:,} item{'s' * (items != 1)}"]
        spread = rules.printed(std, metric, condition, spread=True)
        low_high = (record.get(f"{protocol}_{end}", math.nan) for end in ("low", "high"))
        ends = [rules.printed(end, metric, condition) for end in low_high]
        ours[protocol] = Ours(
            number=rules.printed(mean, metric, condition),
            star=mark if significant is True else "",
            spread=f"± {spread}" if spread else "",
            difference=rules.printed_difference(difference, metric, condition, verdict),
            verdict=verdict,
            details=", ".join(details),
            interval=f"[{', '.join(ends)}]" if all(ends) else "",
        )
    star = mark if record["reported_significant"] is True else ""
    return Entry(rules.printed(record["reported"], metric, condition) + star, ours)


def write_tables(
    cells: pd.DataFrame,
    *,
    title: str,
    labels: Labels,
    setting: Setting,
    csv_path: Path,
    html_path: Path,
    library: Path,
    facts: Sequence[Mapping[str, str]] = (),
) -> None:
    """Write one artifact as a CSV file and as a page.

    The cells are the artifact's rows of what :func:`.compare.compare` returns, ``facts`` rows of a
    table before the numbers, by heading; ``library`` is the folder of what
    :func:`.interactive.write_library` wrote. Differences from conditions of another artifact are
    only in the scorecard: an artifact is made from its own measurements alone. The CSV has one line
    per row and version (reported, published, corrected), numbers as the paper prints them, with
    stars and the standard deviation over seeds.
    """
    for contrast in labels.contrasts:
        if contrast.artifact == cells["artifact"].iloc[0] and contrast.baseline_artifact:
            of_claim = cells["metric"].str.endswith(f"_minus_{contrast.baseline}")
            cells = cells[~(of_claim & (cells["condition"] == contrast.condition))]
    _write_csv(lay_out(cells, labels), csv_path)
    tables, not_run = lay_out_parts(cells, labels)
    content: dict[str, Any] = {"title": title, "tables": tables, "not_run": not_run, "facts": facts}
    content |= {"library": library, "back": ""}
    render("table.html.j2", html_path, setting, **content)


def _write_csv(tables: Sequence[Table], path: Path) -> None:
    """Write a line per row and version; columns are those of any table."""
    rows = []
    for table in tables:
        for texts, cells in table.rows:
            facets = table.common | dict(zip(table.row_facets, texts, strict=True))
            entries = list(zip(table.columns, cells, strict=True))
            for version in ("reported", *PROTOCOLS):
                numbers = {column: entry.text(version) for column, entry in entries if entry}
                if any(numbers.values()):
                    rows.append({"kind": table.kind, **facets, "version": version, **numbers})
    used = [facet for facet in _FACETS if any(facet in row for row in rows)]
    columns = dict.fromkeys(column for table in tables for column in table.columns)
    write_csv(pd.DataFrame(rows, columns=["kind", *used, "version", *columns]), path)


def write_alignment_page(
    cards: Mapping[tuple[str, str, str], Path], names: Mapping[str, str], output: Path
) -> None:
    """Write a page with a row per bitext, language and symmetrisation; shares are in percent.

    ``cards`` has the JSON file of the alignment by bitext, language and aligner as in paths; one
    without gold links has one row without scores. ``names`` has English names by language code.
    """
    rows = []
    for (bitext, code, _), path in cards.items():
        content = read_json(path)
        methods = content.get("by_symmetrisation", {})
        aligner = f"{content['aligner']} ({content['version']})"
        left_out = f"{sum(content['dropped'].values()):,}"
        head = {"bitext": bitext, "language": names.get(code, code), "aligner": aligner}
        head["lines left out"] = left_out
        for method, values in methods.items():
            used = " (used)" if method == content["symmetrisation"] else ""
            row = head | {"symmetrisation": label(method) + used}
            row |= {name: f"{100 * values[key]:.1f}" for name, key in _SCORES.items()}
            rows.append(row | {name: f"{values[key]:,}" for name, key in _COUNTS.items()})
        if not methods:
            head["symmetrisation"] = "no gold links"
            rows.append(head | dict.fromkeys([*_SCORES, *_COUNTS], "–"))
    page: dict[str, Any] = {"title": "Word alignment against gold links (%)", "facts": rows}
    page |= {"back": "index.html", "library": None, "tables": [], "not_run": []}
    render("alignment.html.j2", output, Setting("", comparable=True), **page)

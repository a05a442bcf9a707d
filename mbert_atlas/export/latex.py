"""Tables and claims of a finished run in LaTeX; needs only booktabs and graphicx."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from mbert_atlas.export.results import HOME, FinishedRun
from mbert_atlas.plan.plan import REPORTED
from mbert_atlas.scorecard.cells import KEY, Key
from mbert_atlas.scorecard.compare import compare
from mbert_atlas.scorecard.rules import Contrast
from mbert_atlas.scorecard.tables import Table, lay_out_parts
from mbert_atlas.scorecard.templates import Labels
from mbert_atlas.scorecard.verdicts import NOT_RUN
from mbert_atlas.scorecard.views import effect_and_interval, unit

_ESCAPED = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''"}
    | {"−": "$-$", "±": r"$\pm$", "×": r"$\times$", "≥": r"$\geq$", "≤": r"$\leq$"}
    | {"“": "``", "”": "''", "’": "'", "–": "--", "\N{NO-BREAK SPACE}": "~"}
)
_DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_FIELDS = ("Verdict", "Effect", "Low", "High", "Unit")
_LONG = 32  # rows that a page has room for
_FIT = r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{"


def escape(text: str) -> str:
    """Return a text as LaTeX prints it."""
    return text.translate(_ESCAPED)


def number(text: str, star: str = "") -> str:
    """Return a printed number in math mode, so that its minus is one, with a star or none."""
    plain = re.sub(r",(?=\d)", "{,}", text.replace("−", "-"))
    return f"${plain}^{{{star}}}$" if star else f"${plain}$"


def tables(
    run: FinishedRun,
    paper: str,
    titles: Mapping[str, str],
    labels: Mapping[str, Labels],
    contrasts: Sequence[Contrast],
) -> Iterator[tuple[str, str]]:
    """Yield artifact and LaTeX of the tables of a paper that were run.

    ``titles``, which selects tables, and ``labels`` are by artifact.

    Each cell has the number of the run with its 95% interval (:meth:`.FinishedRun.interval`), which
    of differences pairs the conditions, in rows by protocol below the paper's numbers.
    """
    paths, _ = run.files
    paths = [path for path in paths if path.parent.name == paper] or paths
    cells = compare(
        paths,
        [HOME / REPORTED.format(paper)],
        contrasts={paper: contrasts},
        comparable=run.results.is_comparable,
    )
    cells = cells[(cells["paper"] == paper) & cells["artifact"].isin(labels.keys() & titles.keys())]
    for artifact, rows in cells.groupby("artifact", sort=False):
        laid_out, _ = lay_out_parts(_with_intervals(rows, run, contrasts), labels[str(artifact)])
        chosen = [table for table in laid_out if table.kind != "extra"] or laid_out
        parts = [
            _table(table, f"{paper}-{artifact}-{place}", titles[str(artifact)])
            for place, table in enumerate(chosen, 1)
        ]
        if parts:
            yield str(artifact), "\n".join(parts)


def _with_intervals(
    rows: pd.DataFrame, run: FinishedRun, contrasts: Sequence[Contrast]
) -> pd.DataFrame:
    """Add the ends of intervals to rows of a scorecard: ``<protocol>_low``, ``<protocol>_high``."""
    rows = rows.copy()
    for protocol, cells in run.cells.items():
        weights = [_weights(record, contrasts) for record in rows.to_dict("records")]
        ends = [
            run.interval(protocol, each)[:2] if each.keys() <= cells.keys() else (math.nan,) * 2
            for each in weights
        ]
        for place, end in enumerate(("low", "high")):
            rows[f"{protocol}_{end}"] = [each[place] for each in ends]
    return rows


def _weights(record: Mapping[Any, Any], contrasts: Sequence[Contrast]) -> dict[Key, float]:
    """Return the measured numbers whose weighted sum a row of a scorecard is."""
    key = tuple(str(record[name]) for name in KEY)
    if record["kind"] != "claim":
        return {key: 1.0}
    metric, _, baseline = key[-1].rpartition("_minus_")
    place = (key[1], key[4], baseline)
    artifact = next((each.baseline_artifact for each in contrasts if each[:3] == place), "")
    of_baseline = (key[0], artifact or key[1], *key[2:4], baseline, *key[5:8], metric)
    return {(*key[:8], metric): 1.0, of_baseline: -1.0}


def _table(table: Table, label: str, title: str) -> str:
    versions = [*(["reported"] if table.has_reported else []), *table.protocols]
    names = {"reported": "paper", table.protocols[0]: "both"} if table.agrees else {}
    heads = [*table.row_facets, "protocol", *(column or "value" for column in table.columns)]
    facets = "; ".join(f"{facet}: {text}" for facet, text in table.common.items())
    about = "difference; " if table.kind == "claim" else ""
    caption = escape(f"{title}. {about}{facets}. In brackets 95% intervals".replace("..", "."))
    parts: list[list[list[str]]] = [[]]  # what a page has room for
    for texts, entries in table.rows:
        row: list[list[str]] = []
        for version in versions:
            numbers = [_cell(entry, version) if entry else "" for entry in entries]
            if any(numbers):
                first = [""] * len(texts) if row else texts
                row.append([*map(escape, first), names.get(version, version), *numbers])
        if len(parts[-1]) + len(row) > _LONG:
            parts.append([])
        parts[-1] += row
    shape = "l" * (len(heads) - len(table.columns)) + "r" * len(table.columns)
    tables = []
    for part, lines in enumerate(parts):
        text: str = pd.DataFrame(lines, columns=pd.Index(list(map(escape, heads)))).to_latex(
            index=False,
            escape=False,
            column_format=shape,
            caption="Continued." if part else f"{caption}.",
            label=None if part else f"tab:{label}",
        )
        text = text.replace(r"\begin{tabular}", f"\\centering\n{_FIT}%\n\\begin{{tabular}}")
        text = text.replace(r"\end{tabular}", "\\end{tabular}}")
        if part:
            text = text.replace(r"\begin{table}", "\\begin{table}\n\\addtocounter{table}{-1}")
        tables.append(text)
    return "\n".join(tables)


def _cell(entry: Any, version: str) -> str:
    """Return a number, with its interval below it."""
    if version == "reported":
        plain = entry.reported.rstrip("*")
        return number(plain, entry.reported[len(plain) :]) if plain else ""
    ours = entry.ours.get(version)
    if ours is None:
        return ""
    text = number(ours.number, ours.star)
    if not ours.interval:
        return text
    return rf"\shortstack[r]{{{text}\\{{\scriptsize {number(ours.interval)}}}}}"


def macro(paper: str, claim: str, protocol: str, field: str) -> str:
    """Return the name of a macro, with letters alone, such as mullerLayerFiveCorrectedEffect."""
    words = re.findall(r"[a-z]+|\d", claim)
    spelt = (_DIGITS[int(word)] if word.isdigit() else word.capitalize() for word in words)
    author = re.match("[a-z]*", paper)
    return f"\\{author[0] if author else ''}{''.join(spelt)}{protocol.capitalize()}{field}"


def claim_macros(claims: pd.DataFrame) -> str:
    """Return macros with the verdict, effect, interval ends and unit of each claim.

    They are those of pages: two digits of half an interval. What was not run is ``--``.
    """
    lines = ["% Verdicts and effects by claim and protocol: \\input this before \\begin{document}."]
    for record in claims.to_dict("records"):
        lines.append(f"\n% {record['claim']} ({record['place']}, {record['protocol']})")
        ends = dict.fromkeys(_FIELDS[1:4], "--")
        if record["verdict"] != NOT_RUN and math.isfinite(record["effect"]):
            _, digits = effect_and_interval(record)
            sign = "+" if record["effect_of"] == "difference" else "-"
            ends |= {
                name: rf"\ensuremath{{{record[name.lower()]:{sign}z.{digits}f}}}"
                for name in ends
                if math.isfinite(record[name.lower()])
            }
        texts = {"Verdict": record["verdict"], **ends}
        texts["Unit"] = escape(unit(record["metric"], record["effect_of"]))
        place = record["paper"], record["id"], record["protocol"]
        lines += [
            f"\\newcommand{{{macro(*place, name)}}}{{{text}}}" for name, text in texts.items()
        ]
    return "\n".join(lines) + "\n"


def preview(tables: Sequence[str], figures: Sequence[str], claims: pd.DataFrame, title: str) -> str:
    """Return a document with the claims that were run, the tables and the figures of an export."""
    lines = [
        r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage[margin=2.5cm]{geometry}",
        r"\usepackage{booktabs,graphicx}",
        r"\input{claims}",
        r"\begin{document}",
        rf"\section*{{{escape(title)}}}",
    ]
    for record in claims[claims["verdict"] != NOT_RUN].to_dict("records"):
        place = record["paper"], record["id"], record["protocol"]
        verdict, effect, low, high, unit_of = (macro(*place, field) + "{}" for field in _FIELDS)
        about = f"{escape(record['claim'])} ({record['protocol']})"
        lines.append(rf"\par {about} \emph{{{verdict}}}: {effect} [{low}, {high}] {unit_of}")
    lines += [rf"\input{{tables/{name}}}" for name in tables]
    for name in figures:  # the braces hide the points of a name
        size = r"width=\linewidth,height=\textheight,keepaspectratio"
        lines.append(rf"\clearpage\noindent\includegraphics[{size}]{{{{figures/{name}}}.pdf}}")
    return "\n".join([*lines, r"\end{document}", ""])

"""The scorecard as one HTML page that needs neither network nor JavaScript."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.files import atomic_path
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.compare import Contrasts
from mbert_atlas.scorecard.tables import Table, environment, language_name, lay_out, readable

_NUMBERS = ("reported", "mean", "std", "seeds", "items", "difference")


@dataclass(frozen=True)
class FigureLink:
    """A figure to link from the section of its artifact.

    Attributes:
        paper: key of the paper.
        artifact: key of the artifact, such as ``figure1``.
        title: what the link says.
        path: the file; the link is relative to the page.
    """

    paper: str
    artifact: str
    title: str
    path: Path


@dataclass(frozen=True)
class _Artifact:
    key: str
    run: int
    cells: int
    tables: list[Table]
    not_run: list[Table]
    figures: list[tuple[str, str]]


@dataclass(frozen=True)
class _Paper:
    key: str
    title: str
    counts: dict[str, dict[str, int]]
    artifacts: list[_Artifact]


def write_page(
    scorecard: pd.DataFrame,
    output: Path,
    *,
    run_name: str,
    comparable: bool,
    provenance: Mapping[str, str],
    titles: Mapping[str, str],
    contrasts: Contrasts,
    names: Mapping[str, str],
    figures: Sequence[FigureLink] = (),
    reasons: Mapping[tuple[str, str], str] | None = None,
    cost: pd.DataFrame | None = None,
) -> None:
    """Write the scorecard for readers.

    Args:
        scorecard: what :func:`.compare.compare` returns.
        output: the HTML file.
        run_name: preset or name of the run.
        comparable: whether the numbers may be held against the papers'; else a banner says so.
        provenance: what made the numbers (commit, versions, encoder, date, ...), shown as given.
        titles: of the papers, by key.
        contrasts: the papers' claims, by key.
        names: language code to English name.
        figures: files to link; one with an artifact that has no cells gets a section of its own.
        reasons: why artifacts were not run, by paper and artifact, as far as that is known.
        cost: what :func:`.cost.collect_cost` returns.

    Raises:
        AtlasError: if the disk is full.
    """
    measured = _is_measured(scorecard)
    cells = _list(scorecard[measured], names)
    papers = []
    for paper in dict.fromkeys([*scorecard["paper"], *(figure.paper for figure in figures)]):
        links: dict[str, list[tuple[str, str]]] = {}
        for figure in figures:
            if figure.paper == paper:
                target = Path(os.path.relpath(figure.path, output.parent)).as_posix()
                links.setdefault(figure.artifact, []).append((figure.title, target))
        rows = scorecard[scorecard["paper"] == paper]
        papers.append(_paper(paper, titles[paper], rows, contrasts[paper], names, links))
    page = environment().get_template("page.html.j2")
    with atomic_path(output) as temporary:
        text = page.render(
            run_name=run_name,
            comparable=comparable,
            provenance=provenance,
            papers=papers,
            protocols=PROTOCOLS,
            rule=rules.RULE,
            reasons=reasons or {},
            cells=cells,
            columns=[
                column
                for column in (cells[0] if cells else ())
                if column != "verdict" and any(cell[column] for cell in cells)
            ],
            numbers=_NUMBERS,
            cost=[] if cost is None else cost.to_dict("records"),
        )
        temporary.write_text(text, encoding="utf-8")


def _is_measured(scorecard: pd.DataFrame) -> pd.Series[bool]:
    return scorecard[[f"{protocol}_mean" for protocol in PROTOCOLS]].notna().any(axis=1)


def _paper(
    key: str,
    title: str,
    scorecard: pd.DataFrame,
    contrasts: Sequence[rules.Contrast],
    names: Mapping[str, str],
    links: Mapping[str, list[tuple[str, str]]],
) -> _Paper:
    artifacts = []
    for artifact in dict.fromkeys([*scorecard["artifact"], *links]):
        rows = scorecard[scorecard["artifact"] == artifact]
        run, not_run = rows[_is_measured(rows)], rows[~_is_measured(rows)]
        artifacts.append(
            _Artifact(
                artifact,
                len(run),
                len(rows),
                lay_out(run, names, contrasts, rows),
                lay_out(not_run, names, contrasts, rows),
                links.get(artifact, []),
            )
        )
    counts: dict[str, dict[str, int]] = {
        protocol: {
            str(verdict): int(count)
            for verdict, count in scorecard[f"{protocol}_verdict"].value_counts().items()
        }
        for protocol in PROTOCOLS
    }
    return _Paper(key, title, counts, sorted(artifacts, key=lambda one: _natural(one.key)))


def _natural(artifact: str) -> tuple[int, list[tuple[bool, int, str]]]:
    """Return a key that sorts tables, figures, then the rest, and table 2 before table 10."""
    kind = next((i for i, name in enumerate(("table", "figure")) if artifact.startswith(name)), 2)
    parts = re.findall(r"\d+|\D+", artifact)
    return kind, [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def _list(cells: pd.DataFrame, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return one dictionary of texts per cell and protocol that was run."""
    rows = []
    for record in cells.to_dict("records"):
        metric, condition = record["metric"], record["condition"]
        for protocol in PROTOCOLS:
            mean, std = record[f"{protocol}_mean"], record[f"{protocol}_std"]
            if math.isnan(mean):
                continue
            difference = record[f"{protocol}_difference"]
            seeds, items = record[f"{protocol}_n_seeds"], record[f"{protocol}_n_items"]
            rows.append(
                {
                    "paper": record["paper"],
                    "artifact": record["artifact"],
                    "task": readable(record["task"]),
                    "model": readable(record["model"]),
                    "condition": readable(condition),
                    "source": language_name(record["source"], names),
                    "target": language_name(record["target"], names),
                    "layers": record["layers"],
                    "metric": readable(metric),
                    "protocol": protocol,
                    "reported": rules.printed(record["reported"], metric, condition),
                    "mean": rules.printed(mean, metric, condition),
                    "std": rules.printed_spread(std, metric, condition),
                    "seeds": str(seeds or ""),
                    "items": "" if pd.isna(items) else f"{items:,}",
                    "difference": "" if math.isnan(difference) else f"{difference:+.4g}",
                    "verdict": record[f"{protocol}_verdict"],
                }
            )
    return rows

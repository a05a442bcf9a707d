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
from mbert_atlas.labels import label, language
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.compare import Contrasts
from mbert_atlas.scorecard.tables import Table, artifact_name, environment, lay_out, was_run

_MOST_OWN_CELLS = 150
"""Of numbers that the paper does not have: larger tables are left to figure and CSV file."""
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


def drawing(paper: str, artifact: str, path: Path, names: Mapping[str, str]) -> FigureLink:
    """Return the link to a drawing, whose title says what the name of its file says.

    Args:
        paper: its key.
        artifact: such as ``figure1``.
        path: such as ``figure1.de.published.svg``, which is *Figure 1, German, published*.
        names: languages by code.
    """
    name, *rest = path.stem.split(".")
    words = filter(None, [name.removeprefix(artifact).strip("_"), *rest])
    title = ", ".join([artifact_name(artifact), *(language(word, names) for word in words)])
    return FigureLink(paper, artifact, title, path)


@dataclass(frozen=True)
class _Artifact:
    key: str
    run: int
    cells: int
    tables: list[Table]
    left_out: int
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
    conditions: Mapping[str, Mapping[str, str]] | None = None,
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
        conditions: by ``paper/artifact`` what its conditions are called, if not as usual.

    Raises:
        AtlasError: if the disk is full.
    """
    measured = was_run(scorecard)
    cells = _list(scorecard[measured & scorecard["reported"].notna()], names)
    papers = []
    for paper in dict.fromkeys([*scorecard["paper"], *(figure.paper for figure in figures)]):
        links: dict[str, list[tuple[str, str]]] = {}
        for figure in figures:
            if figure.paper == paper:
                target = Path(os.path.relpath(figure.path, output.parent)).as_posix()
                links.setdefault(figure.artifact, []).append((figure.title, target))
        rows = scorecard[scorecard["paper"] == paper]
        own = contrasts[paper]
        papers.append(_paper(paper, titles[paper], rows, own, names, links, conditions or {}))
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


def _paper(
    key: str,
    title: str,
    scorecard: pd.DataFrame,
    contrasts: Sequence[rules.Contrast],
    names: Mapping[str, str],
    links: Mapping[str, list[tuple[str, str]]],
    conditions: Mapping[str, Mapping[str, str]],
) -> _Paper:
    artifacts = []
    for artifact in dict.fromkeys([*scorecard["artifact"], *links]):
        rows = scorecard[scorecard["artifact"] == artifact]
        run, own = was_run(rows), conditions.get(f"{key}/{artifact}")
        tables = lay_out(rows[run], names, contrasts, rows, own)
        shown = [one for one in tables if one.kind != "extra" or one.size <= _MOST_OWN_CELLS]
        artifacts.append(
            _Artifact(
                artifact,
                int(run.sum()),
                len(rows),
                shown,
                sum(one.size for one in tables if one not in shown),
                lay_out(rows[~run], names, contrasts, rows, own),
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
                    "task": label(record["task"]),
                    "model": label(record["model"]),
                    "condition": label(condition),
                    "source": language(record["source"], names),
                    "target": language(record["target"], names),
                    "layers": record["layers"],
                    "metric": label(metric),
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

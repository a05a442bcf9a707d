"""The scorecard, and one self-contained page per paper."""

import math
import re
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.encoding.coverage import MOST_UNKNOWN
from mbert_atlas.files import read_json
from mbert_atlas.labels import label, language
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.compare import OF_PROTOCOL, Contrasts
from mbert_atlas.scorecard.counts import count_discoveries, count_verdicts, finding
from mbert_atlas.scorecard.coverage import coverage_of
from mbert_atlas.scorecard.learning import families_of
from mbert_atlas.scorecard.prose import bullets, table_rows
from mbert_atlas.scorecard.tables import lay_out_parts, was_run
from mbert_atlas.scorecard.templates import (
    FigureLink,
    Labels,
    Setting,
    artifact_name,
    natural,
    provenance,
    render,
)
from mbert_atlas.scorecard.verdicts import IN_CONTROL, UNDECIDED
from mbert_atlas.scorecard.views import ClaimView, claim_views

_MOST_EXTRA_CELLS = 150
"""Larger tables of additional results are left to figure and CSV file."""


def write_page(
    scorecard: pd.DataFrame,
    output: Path,
    *,
    setting: Setting,
    titles: Mapping[str, str],
    contrasts: Contrasts,
    library: Path,
    figures: Sequence[FigureLink] = (),
    reasons: Mapping[tuple[str, str], str] | None = None,
) -> None:
    """Write the scorecard for readers; titles and contrasts are those of the papers, by key.

    An artifact with figures and no cells gets a section, too. ``reasons`` say why artifacts were
    not run, by paper and artifact, where a failed run has shown it; ``library`` is the folder of
    what :func:`.interactive.write_library` wrote. Raises AtlasError if the disk is full.
    """
    run = scorecard[was_run(scorecard) & scorecard["reported"].notna()]
    keys = (run["paper"] + "/" + run["artifact"]).unique()
    named = {key: setting.labels(key) for key in keys}
    cells = [cell for record in run.to_dict("records") for cell in _texts(record, named)]
    papers = []
    for paper in dict.fromkeys([*scorecard["paper"], *(figure.paper for figure in figures)]):
        rows = scorecard[scorecard["paper"] == paper]
        plots = [figure for figure in figures if figure.paper == paper]
        artifacts = []
        for key in sorted({*rows["artifact"], *(plot.artifact for plot in plots)}, key=_place):
            labels = setting.labels(f"{paper}/{key}", contrasts[paper])
            artifact = _artifact(rows[rows["artifact"] == key], labels)
            of_artifact = [plot for plot in plots if plot.artifact == key]
            artifacts.append({"key": key, "figures": of_artifact, **artifact})
        counts = {name: rows[f"{name}_verdict"].value_counts().to_dict() for name in PROTOCOLS}
        section = {"key": paper, "title": titles[paper], "counts": counts, "artifacts": artifacts}
        papers.append(section)
    columns = [name for name in (cells[0] if cells else ()) if any(cell[name] for cell in cells)]
    render(
        "page.html.j2",
        output,
        setting,
        library=library,
        provenance=provenance(setting),
        papers=papers,
        contents={"summary": "Summary", **({"cells": "All cells"} if cells else {})}
        | {paper["key"]: paper["title"].partition(":")[0] for paper in papers},
        tolerances=rules.METRICS,
        most_noise=rules.MOST_NOISE,
        reasons=reasons or {},
        cells=cells,
        columns=[name for name in columns if name != "verdict"],
        numbers=("reported", "mean", "std", "seeds", "items", "difference"),
    )


def _artifact(rows: pd.DataFrame, labels: Labels) -> dict[str, Any]:
    tables, not_run = lay_out_parts(rows, labels)
    large = [one for one in tables if one.kind == "extra" and len(one.entries) > _MOST_EXTRA_CELLS]
    return {
        "run": int(was_run(rows).sum()),
        "cells": len(rows),
        "tables": [table for table in tables if table not in large],
        "left_out": sum(len(table.entries) for table in large),
        "not_run": not_run,
    }


def _place(artifact: str) -> tuple[int, list[tuple[str, int]]]:
    """Return a key that sorts tables, figures, then the rest, and table 2 before table 10."""
    kind = next((i for i, name in enumerate(("table", "figure")) if artifact.startswith(name)), 2)
    return kind, natural(artifact)


def _texts(record: Mapping[Any, Any], named: Mapping[str, Labels]) -> list[dict[str, Any]]:
    """Return the texts of a cell by column, for every protocol that was run."""
    metric, condition = record["metric"], record["condition"]
    labels = named[f"{record['paper']}/{record['artifact']}"]
    facets = {
        "paper": record["paper"],
        "artifact": record["artifact"],
        "task": label(record["task"]),
        "model": label(record["model"], labels.models),
        "condition": label(condition, labels.conditions),
        **{name: language(record[name], labels.places) for name in ("source", "target")},
        "layers": record["layers"],
        "metric": label(metric),
    }
    rows = []
    for protocol in PROTOCOLS:
        mean, std, seeds, items, _, difference, verdict = (
            record[f"{protocol}_{column}"] for column in OF_PROTOCOL
        )
        if not math.isnan(mean):
            numbers = {
                "protocol": protocol,
                "reported": rules.printed(record["reported"], metric, condition),
                "mean": rules.printed(mean, metric, condition),
                "std": rules.printed(std, metric, condition, spread=True),
                "seeds": str(seeds or ""),
                "items": "" if pd.isna(items) else f"{items:,}",
                "difference": rules.printed_difference(difference, metric, condition, verdict),
                "verdict": verdict,
            }
            rows.append(facets | numbers)
    return rows


def write_replication(
    claims: pd.DataFrame,
    output: Path,
    *,
    paper: str,
    title: str,
    setting: Setting,
    scorecard: pd.DataFrame,
    contrasts: Sequence[rules.Contrast],
    artifacts: Sequence[str],
    figures: Sequence[FigureLink],
    prose: str,
    cost: pd.DataFrame,
    cards: Path | None = None,
) -> None:
    """Write the page of one paper, with its figures embedded; the claims are those of all papers.

    How its languages are split into subwords is on the ``cards`` of encoders, see
    :meth:`.provenance.Tracer.cards`. It quotes the deviations and protocols of ``prose``, the
    paper's page in ``docs/papers``, and shows the shared part of the cost next to the paper's.
    Raises AtlasError if the disk is full.
    """
    claims = claims[claims["paper"] == paper]
    views = sorted(claim_views(claims, setting), key=attrgetter("rank"))
    sections = [
        _section(key, setting.labels(f"{paper}/{key}", contrasts), views, scorecard, figures)
        for key in artifacts
    ]
    measured = scorecard["target"][was_run(scorecard)]
    parts: dict[str, Any] = {
        **_in_short(views),
        "families": families_of(setting.record, paper),
        "deviations": bullets(prose, "Deviations and choices"),
        "protocol_rows": table_rows(prose, "The two protocols"),
        "coverage": coverage_of(read_json(cards), paper, setting) if cards else [],
    }
    render(
        "replication.html.j2",
        output,
        setting,
        paper=paper,
        title=title,
        views=views,
        counts=count_verdicts(claims, once=False),
        discoveries=count_discoveries(claims),
        artifacts=sections,
        contents=_contents(artifacts, views, parts),
        finding=finding(claims),
        seeds=max((int(text) for text in re.findall(r"\d+", " ".join(claims["seeds"]))), default=0),
        encoders=[*dict.fromkeys(setting.labels(f"{paper}/").models.values())],
        cost=cost[cost["paper"].isin([paper, "shared"])].to_dict("records"),
        cards=cards,
        most_unknown=MOST_UNKNOWN,
        evaluated={language(code, setting.names) for code in measured},
        provenance=provenance(setting),
        **parts,
    )


def _in_short(views: Sequence[ClaimView]) -> dict[str, list[ClaimView]]:
    """Return the claims that a page begins with: of the paper, and run."""
    run = [view for view in views if view.was_run and not view.is_control]
    others = [view for view in run if not view.row["headline"]]
    return {
        "in_short": [view for view in run if view.row["headline"]]
        + [view for view in others if view.fails],
        "holding": [view for view in others if view.holds],
        "in_control": [
            view for view in others if not view.holds and IN_CONTROL in view.verdicts.values()
        ],
        "compared": [
            view
            for view in others
            for last in view.outcomes[-1:]
            if last.verdict == UNDECIDED and last.reported and not view.holds
        ],
    }


def _section(
    key: str,
    labels: Labels,
    views: Sequence[ClaimView],
    scorecard: pd.DataFrame,
    figures: Sequence[FigureLink],
) -> dict[str, Any]:
    """Return what a paper's page shows of an artifact."""
    tables, not_run = lay_out_parts(scorecard[scorecard["artifact"] == key], labels)
    return {
        "key": key,
        "views": [view for view in views if view.row["artifact"] == key],
        "figures": [each for each in figures if each.artifact == key],
        "tables": tables,
        "not_run": not_run,
    }


def _contents(
    artifacts: Sequence[str], views: Sequence[ClaimView], parts: Mapping[str, Any]
) -> dict[str, str]:
    """Return the titles of a page's sections by their ids, without those that would be empty."""
    sections = [
        (
            "in-short",
            "In short",
            any(parts[name] for name in ("in_short", "holding", "in_control", "compared")),
        ),
        ("claims", "All claims", True),
        ("our-controls", "Controls (ours)", any(view.is_control for view in views)),
        *((key, (name := artifact_name(key))[:1].upper() + name[1:], True) for key in artifacts),
        ("training", "Did it learn?", parts["families"]),
        ("protocols", "The two protocols", parts["protocol_rows"]),
        ("deviations", "Deviations", parts["deviations"]),
        ("cost", "Cost", True),
        ("subwords", "Subwords", parts["coverage"]),
        ("provenance", "Provenance", True),
    ]
    return {key: title for key, title, is_shown in sections if is_shown}

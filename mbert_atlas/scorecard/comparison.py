"""The page that compares finished runs: claims by run, and each paper's main curves."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from mbert_atlas.analysis.measurements import read_measurements
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.figures.curves import curve_grid
from mbert_atlas.figures.reported import read_reported, reported_note, with_reported
from mbert_atlas.figures.style import save_figure
from mbert_atlas.plan.records import Curves, PaperPlan
from mbert_atlas.registry import resolve
from mbert_atlas.scorecard.cells import write_csv
from mbert_atlas.scorecard.counts import count_verdicts
from mbert_atlas.scorecard.results import ENCODER, Results, read_results
from mbert_atlas.scorecard.templates import Setting, artifact_name, render
from mbert_atlas.scorecard.verdicts import (
    COLUMNS,
    DOES_NOT_HOLD,
    FAILS_SO_FAR,
    HOLDS,
    HOLDS_SO_FAR,
    NOT_APPLICABLE,
    NOT_RUN,
)
from mbert_atlas.scorecard.views import ClaimView, Outcome, claim_views

SAME, DIFFERENT, OPPOSITE = "the same", "different", "opposite"
SINGLE, NONE = "in one run only", "not run"
"""How the verdicts of runs compare: ``opposite`` if the claim holds in one run and does not hold in
another, both on all of the paper's cases; "so far" is the same as the verdict on all. All may be
the same, or only one run has a verdict, or none: not applicable where a claim was run."""
_BOTH = "both protocols"  # where they have the same numbers
_OPEN = {NOT_RUN, NOT_APPLICABLE}  # what is no verdict on a claim
_SO_FAR = {HOLDS_SO_FAR: HOLDS, FAILS_SO_FAR: DOES_NOT_HOLD}
_KEYS = ["paper", "id", "protocol"]


@dataclass(frozen=True)
class ComparedClaim:
    """A claim with its results in each run."""

    view: ClaimView
    runs: list[list[Outcome]]  # by run; one outcome where the protocols have the same numbers
    agreement: str
    differing: Sequence[str]  # protocols under which verdicts differ


def write_comparison(
    folders: Sequence[Path],
    output: Path,
    *,
    papers: Mapping[str, PaperPlan],
    names: Mapping[str, str],
    reported: Mapping[str, Path] | None = None,
) -> None:
    """Compare finished runs: a self-contained page, ``index.html``, its figures and ``claims.csv``.

    ``papers`` have titles and main curves, ``names`` the languages by code; ``reported`` are the
    files with the papers' numbers, which figures show. ``claims.csv`` has the rows of all runs,
    with the column ``run``. Raises an AtlasError if there are fewer than two folders, and a
    DataError as :func:`.results.read_results`, or if ``output`` holds other results.
    """
    if len(folders) < 2:
        raise AtlasError("A comparison takes two results folders or more; name another one.")
    table = output / "claims.csv"
    is_run = table.is_file() and not table.read_text(encoding="utf-8").startswith("run,")
    if is_run or (output / "measurements").is_dir():
        problem = "the results of a run, which the comparison would overwrite"
        raise DataError(output, "", problem, "name another folder with --output")
    results = read_results(folders)
    run_names = ", ".join(one.label for one in results)
    setting = Setting(run_names, all(one.is_comparable for one in results), names=names)
    claims, printed = _aligned(results), reported or {}
    sections = []
    for paper in claims["paper"].unique():
        plan = papers.get(paper, PaperPlan(paper, []))
        of_paper = claims[claims["paper"] == paper]
        compared = compare_claims(of_paper, setting, len(results))
        numbers = Counter(claim.agreement for claim in compared if not claim.view.is_control)
        agreements = (SAME, DIFFERENT, OPPOSITE, SINGLE, NOT_APPLICABLE, NONE)
        section = {
            "key": paper,
            "title": plan.title,
            "claims": compared,
            "agreement": {name: numbers[name] for name in agreements if numbers[name]},
            "counts": [count_verdicts(rows) for _, rows in of_paper.groupby("run", sort=False)],
            "curves": _draw(results, plan, names, output / "figures" / paper, printed.get(paper)),
        }
        sections.append(section)
    write_csv(claims, table)
    facts = dict.fromkeys(name for one in results for name in one.facts)
    by_fact = {name: [one.facts.get(name, "–") for one in results] for name in facts}
    minor = {  # encoders that are the same in all runs
        name: texts[0]
        for name, texts in by_fact.items()
        if name.startswith(ENCODER) and len(set(texts)) == 1
    }
    render(
        "comparison.html.j2",
        output / "index.html",
        setting,
        runs=[one.label for one in results],
        facts={name: texts for name, texts in by_fact.items() if name not in minor},
        minor=minor,
        papers=sections,
    )


def _aligned(results: Sequence[Results]) -> pd.DataFrame:
    """Return the claims of all runs, with the column ``run``; what a run lacks is not run."""
    stated = pd.concat([one.claims for one in results]).drop_duplicates(_KEYS)
    texts = dict.fromkeys(("basis", "cell", "part", "n", "seeds", "gate", "in_control"), "")
    unknown = stated.assign(verdict=NOT_RUN, cells=0.0, same_numbers="yes", **texts)
    measured = ["effect", "low", "high", "p", "q", "detectable", "seeds_to_decide"]
    unknown[measured] = float("nan")
    every = []
    for one in results:
        claims = pd.concat([one.claims, unknown]).drop_duplicates(_KEYS)
        claims = claims.set_index(_KEYS).loc[pd.MultiIndex.from_frame(stated[_KEYS])].reset_index()
        every.append(claims.assign(run=one.label)[["run", *COLUMNS]])
    return pd.concat(every, ignore_index=True)


def compare_claims(claims: pd.DataFrame, setting: Setting, runs: int) -> list[ComparedClaim]:
    """Return the claims of one paper; each run has one row per claim and protocol."""
    compared = []
    for view in claim_views(claims, setting):
        size = len(view.outcomes) // runs
        by_run = [view.outcomes[n : n + size] for n in range(0, len(view.outcomes), size)]
        judgements = {
            protocol: {one.verdict for one in view.outcomes if one.protocol == protocol} - _OPEN
            for protocol in PROTOCOLS
        }
        differing = [
            protocol
            for protocol, verdicts in judgements.items()
            if len({_SO_FAR.get(verdict, verdict) for verdict in verdicts}) > 1
        ]
        judged = sum(any(one.verdict not in _OPEN for one in outcomes) for outcomes in by_run)
        was_run = any(one.verdict != NOT_RUN for one in view.outcomes)
        unjudged = NOT_APPLICABLE if was_run else NONE
        agreement = SAME if judged > 1 else SINGLE if judged else unjudged
        agreement = DIFFERENT if differing else agreement
        if any({HOLDS, DOES_NOT_HOLD} <= verdicts for verdicts in judgements.values()):
            agreement = OPPOSITE
        merged = [_merged(outcomes) for outcomes in by_run]
        compared.append(ComparedClaim(view, merged, agreement, differing))
    return compared


def _merged(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes of a run, only one if both protocols have the same numbers."""
    first = replace(outcomes[0], protocol=_BOTH)
    same = all(replace(one, protocol=first.protocol) == first for one in outcomes)
    return [first] if same else list(outcomes)


def _draw(
    results: Sequence[Results],
    plan: PaperPlan,
    names: Mapping[str, str],
    stem: Path,
    reported: Path | None,
) -> dict[str, Any] | None:
    """Draw the main curves of the paper that ``stem`` names; none if no run has measured them."""
    frames = [(curves, _points(results, stem.name, curves, reported)) for curves in plan.curves]
    curves, by_run = max(frames, key=lambda item: len(item[1]), default=(None, {}))
    if curves is None or not by_run:
        return None
    by_protocol: dict[str, dict[str, pd.DataFrame]] = {
        protocol: {label: rows[protocol] for label, rows in by_run.items() if protocol in rows}
        for protocol in PROTOCOLS
    }
    if len({_content(points) for points in by_protocol.values()}) == 1:
        by_protocol = {_BOTH: by_protocol[PROTOCOLS[0]]}
    drawn, note = dict[str, Path](), ""
    for protocol, points in by_protocol.items():
        if points:
            figure = curve_grid(
                points, along_label=curves.along_label, value_label=curves.value_label, names=names
            )
            drawn[protocol] = save_figure(figure, f"{stem}.{protocol.split()[0]}")[0]
            note = reported_note(pd.concat(points.values()))
    name, title = _artifact(plan, curves)
    return {
        "title": f"{artifact_name(name)}: {title}",
        "figures": drawn,
        "note": note,
        "missing": [one.label for one in results if one.label not in by_run],
    }


def _content(points: Mapping[str, pd.DataFrame]) -> str:
    """Return what a figure shows of each run, as text."""
    columns = ["panel", "line", "along", "value", "seed"]
    return str({label: frame[columns].to_csv(index=False) for label, frame in points.items()})


def _artifact(plan: PaperPlan, curves: Curves) -> tuple[str, str]:
    """Return name and title of the artifact that has the curves' measurements."""
    for artifact in plan.artifacts:
        if {item.name for item in artifact.measurements} & set(curves.measurements):
            return artifact.name, artifact.title
    return curves.measurements[0], ""


def _points(
    results: Sequence[Results], paper: str, curves: Curves, reported: Path | None
) -> dict[str, dict[str, pd.DataFrame]]:
    """Return the points of each run that has all measurements, by protocol."""
    by_run = {}
    for one in results:
        stems = [one.root / f"measurements/{paper}/{name}.csv" for name in curves.measurements]
        # a published copy has them compressed
        paths = [path if path.is_file() else path.with_suffix(".csv.xz") for path in stems]
        if not all(path.is_file() for path in paths):
            continue
        rows = pd.concat(map(read_measurements, paths), ignore_index=True)
        if reported:
            rows = with_reported(rows, read_reported(reported, one.is_comparable))
        points = {
            str(protocol): resolve(curves.points)(some)
            for protocol, some in rows.groupby("protocol")
        }
        if points := {protocol: frame for protocol, frame in points.items() if len(frame)}:
            by_run[one.label] = points
    return by_run

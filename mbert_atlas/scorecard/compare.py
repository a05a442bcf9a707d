"""The scorecard: one row per reported or measured cell, and one per claim."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.files import atomic_path
from mbert_atlas.schemas import MEASUREMENT_COLUMNS
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.cells import (
    KEY,
    REPORTED_COLUMNS,
    CellLine,
    Key,
    Measured,
    measured_cells,
    read_cells,
)

_OF_PROTOCOL = ("mean", "std", "n_seeds", "n_items", "significant", "difference", "verdict")
COLUMNS = (
    *KEY,
    "kind",
    "reported",
    "reported_significant",
    "tolerance",
    *(f"{protocol}_{column}" for protocol in PROTOCOLS for column in _OF_PROTOCOL),
)
"""Columns of scorecard.csv. ``kind`` is ``value``; ``claim``, whose metric is
``X_minus_<baseline>``, also where only ours have both conditions; or ``extra``, ours alone, of a
metric that the artifact does not report."""

_SIGNIFICANT = "_significant_vs_"

Value = TypeVar("Value")


class _Cells(NamedTuple, Generic[Value]):
    """What a file says of cells, and which of them it marks as significantly different."""

    values: dict[Key, Value]
    stars: dict[Key, bool]


class _Stars(NamedTuple):
    """Whether a cell differs significantly from its baseline; none where that was not tested."""

    reported: bool | None
    ours: Mapping[str, bool | None]


_NO_STARS = _Stars(None, {})
_KINDS = ("value", "claim", "extra")
Contrasts = Mapping[str, Sequence[rules.Contrast]]


def compare(
    measurements: Sequence[Path],
    reported: Sequence[Path],
    *,
    contrasts: Contrasts,
    comparable: bool = True,
) -> pd.DataFrame:
    """Lay measured values beside the papers' and judge each by the rule in :mod:`.rules`.

    Args:
        measurements: CSV files with the columns ``MEASUREMENT_COLUMNS``; values in the unit of
            the reported ones; one row per cell, protocol and seed, the seed empty where a value
            has none. ``X_significant_vs_<condition>`` (0 or 1, no seed) says whether metric X
            differs significantly from that condition.
        reported: CSV files with the first nine of these columns and ``value``.
            ``X_significant_vs_<condition>`` is 1 where the paper has a star.
        contrasts: the claims to check, by paper.
        comparable: false for presets that don't follow the papers; then nothing is judged.

    Returns:
        Columns ``COLUMNS``; papers, artifacts and cells in the order of the reported files,
        cells that only we have after them, claims and extras at the end of their artifact. Standard
        deviations are those of a sample (ddof 1), NaN below two seeds. The difference is
        measured less reported.

    Raises:
        DataError: names file and line if columns are missing, a number is not a number, a
            protocol is unknown, a cell appears twice, or a reported metric has no tolerance.
    """
    by_condition: dict[Key, list[rules.Contrast]] = {}
    for paper, claims in contrasts.items():
        for claim in claims:
            by_condition.setdefault((paper, claim.artifact, claim.condition), []).append(claim)
    papers = _read_reported(reported, by_condition)
    ours = _read_measurements(measurements, by_condition)
    rows = list(_rows(papers, ours, by_condition, comparable))
    place: dict[object, int] = {}
    for row in rows:
        place.setdefault(row["paper"], len(place))
        place.setdefault((row["paper"], row["artifact"]), len(place))
    rows.sort(
        key=lambda row: (
            place[row["paper"]],
            place[row["paper"], row["artifact"]],
            _KINDS.index(str(row["kind"])),
        )
    )
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    for column in frame.columns:
        if column.endswith("_significant"):
            frame[column] = frame[column].astype("boolean")
        elif column.endswith(("_n_seeds", "_n_items")):
            frame[column] = frame[column].astype("Int64")
    return frame


def write_scorecard(frame: pd.DataFrame, path: Path | str) -> None:
    """Write what :func:`compare` returns as CSV, atomically."""
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False, float_format="%.10g", lineterminator="\n")


def _rows(
    papers: _Cells[float],
    ours: Mapping[str, _Cells[Measured]],
    contrasts: Mapping[Key, Sequence[rules.Contrast]],
    comparable: bool,
) -> Iterator[dict[str, object]]:
    """Yield a row for each cell, and one for each claim about it."""
    # a paper marks only what is significant: no star is a result where the metric is tested at all
    tested = {(*key[:2], key[8]) for key in papers.stars}
    metrics = {(*key[:2], key[8]) for key in papers.values}
    for key in dict.fromkeys(chain(papers.values, *(own.values for own in ours.values()))):
        measured = {protocol: own.values.get(key) for protocol, own in ours.items()}
        reported = papers.values.get(key, math.nan)
        claims = contrasts.get((key[0], key[1], key[4]), [])
        stars = []
        for claim in claims:
            star = (*key[:8], f"{key[8]}{_SIGNIFICANT}{claim.baseline}")
            is_tested = key in papers.values and (*key[:2], star[8]) in tested
            stars.append(
                _Stars(
                    papers.stars.get(star, False) if is_tested else None,
                    {protocol: own.stars.get(star) for protocol, own in ours.items()},
                )
            )
        kind = "value" if (*key[:2], key[8]) in metrics else "extra"
        yield _row(key, kind, reported, measured, stars[0] if stars else _NO_STARS, comparable)
        for claim, of_baseline in zip(claims, stars, strict=True):
            base = (key[0], claim.beside or key[1], *key[2:4], claim.baseline, *key[5:])
            differences = {
                protocol: _paired(measured[protocol], own.values.get(base))
                for protocol, own in ours.items()
            }
            both = key in papers.values and base in papers.values
            if kind == "value" and (both or any(differences.values())):
                yield _row(
                    (*key[:8], f"{key[8]}_minus_{claim.baseline}"),
                    "claim",
                    reported - papers.values.get(base, math.nan),
                    differences,
                    of_baseline,
                    comparable,
                )


def _row(
    key: Key,
    kind: str,
    reported: float,
    measured: Mapping[str, Measured | None],
    stars: _Stars,
    comparable: bool,
) -> dict[str, object]:
    condition, metric = key[4], key[8]
    rule = rules.metric_of("gain_over_original" if kind == "claim" else metric, condition)
    if math.isnan(reported):
        rule = None  # there is nothing to hold ours against
    by_test = kind == "claim" and stars.reported is not None
    row: dict[str, object] = dict(zip(KEY, key, strict=True)) | {
        "kind": kind,
        "reported": reported,
        "reported_significant": stars.reported,
        "tolerance": rules.tolerance(rule, reported) if rule and not by_test else math.nan,
    }
    for protocol, cell in measured.items():
        values = np.array(list(cell.values.values())) if cell else np.empty(0)
        mean = float(values.mean()) if len(values) else math.nan
        std = float(values.std(ddof=1)) if len(values) > 1 else math.nan
        verdict: str | None
        if not len(values):  # what the paper does not report is not missing either
            verdict = None if math.isnan(reported) else rules.NOT_RUN
        elif rule is None:
            verdict = rules.NO_REPORTED_VALUE
        elif not comparable:
            verdict = rules.NOT_COMPARABLE
        elif stars.reported is not None and by_test:
            verdict = rules.claim_verdict(
                reported,
                mean,
                reported_significant=stars.reported,
                measured_significant=stars.ours.get(protocol),
            )
        else:
            signed = kind == "claim" or rules.is_difference(metric, condition)
            error = std / math.sqrt(max(len(values), 1))
            verdict = rules.value_verdict(reported, mean, error, rule, signed=signed)
        row |= {
            f"{protocol}_mean": mean,
            f"{protocol}_std": std,
            f"{protocol}_n_seeds": sum(seed is not None for seed in cell.values) if cell else None,
            f"{protocol}_n_items": cell.n_items if cell else None,
            f"{protocol}_significant": stars.ours.get(protocol) if len(values) else None,
            f"{protocol}_difference": mean - reported,
            f"{protocol}_verdict": verdict,
        }
    return row


def _paired(condition: Measured | None, baseline: Measured | None) -> Measured | None:
    """Return the differences of the seeds that both conditions have; none if there are none."""
    if condition is None or baseline is None:
        return None
    values = {
        seed: value - baseline.values[seed]
        for seed, value in condition.values.items()
        if seed in baseline.values
    }
    return Measured(values, condition.n_items) if values else None


def _read_reported(
    paths: Iterable[Path], contrasts: Mapping[Key, Sequence[rules.Contrast]]
) -> _Cells[float]:
    found = _Cells[float]({}, {})
    for line in read_cells(paths, REPORTED_COLUMNS):
        if _SIGNIFICANT in line.fields["metric"]:
            found.stars[line.key] = _star(line, contrasts)
            continue
        if rules.metric_of(line.fields["metric"], line.fields["condition"]) is None:
            raise line.refused(
                f"no tolerance is known for metric {line.fields['metric']!r}",
                "correct the name or add the metric to mbert_atlas/scorecard/rules.py",
            )
        found.values[line.key] = line.number("value")
    return found


def _read_measurements(
    paths: Iterable[Path], contrasts: Mapping[Key, Sequence[rules.Contrast]]
) -> dict[str, _Cells[Measured]]:
    stars: dict[str, dict[Key, bool]] = {name: {} for name in PROTOCOLS}
    values = []
    for line in read_cells(paths, MEASUREMENT_COLUMNS):
        if _SIGNIFICANT not in line.fields["metric"]:
            values.append(line)
            continue
        seed = line.whole("seed")
        if seed is not None:
            raise line.refused(
                f"a significance of the single seed {seed}",
                "test over all seeds together and leave the seed empty",
            )
        stars[line.protocol][line.key] = _star(line, contrasts)
    return {name: _Cells(own, stars[name]) for name, own in measured_cells(values).items()}


def _star(line: CellLine, contrasts: Mapping[Key, Sequence[rules.Contrast]]) -> bool:
    (paper, artifact), condition = line.key[:2], line.key[4]
    baseline = line.fields["metric"].split(_SIGNIFICANT)[1]
    claims = contrasts.get((paper, artifact, condition), [])
    if baseline not in [claim.baseline for claim in claims]:
        raise line.refused(
            f"no contrast of {condition!r} with {baseline!r} is declared for {artifact}",
            f"correct the row or declare it in mbert_atlas/papers/{paper}/claims.py",
        )
    if line.number("value") not in (0, 1):
        raise line.refused(f"significance {line.fields['value']!r}", "write 0 or 1")
    return bool(line.number("value"))

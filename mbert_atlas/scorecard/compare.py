"""The scorecard: a row per reported or measured cell, and per difference of two conditions."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.cells import KEY, CellLine, Key, Measured, measured_cells, read_cells

OF_PROTOCOL = ("mean", "std", "n_seeds", "n_items", "significant", "difference", "verdict")
COLUMNS = (
    *KEY,
    *("kind", "reported", "reported_significant", "tolerance", "reason"),
    *(f"{protocol}_{column}" for protocol in PROTOCOLS for column in OF_PROTOCOL),
)
"""Columns of scorecard.csv. ``kind`` is ``value``; ``claim``, a difference of two conditions, whose
metric is ``X_minus_<baseline>``; or ``extra``, of a metric that the paper does not report there.
``reason`` says why a cell that was not run cannot be reproduced here."""

Contrasts = Mapping[str, Sequence[rules.Contrast]]
_ByCondition = Mapping[Key, Sequence[rules.Contrast]]
_SIGNIFICANT = "_significant_vs_"
_KINDS = ("value", "claim", "extra")


def compare(
    measurements: Sequence[Path],
    reported: Sequence[Path],
    *,
    contrasts: Contrasts,
    comparable: bool = True,
    not_reproducible: Sequence[Path] = (),
) -> pd.DataFrame:
    """Compare measured with reported values and judge each, see :mod:`.rules`.

    Measurements are CSV files with the columns ``MEASUREMENT_COLUMNS``, in the unit of the reported
    files, which have the first nine of these columns and ``value``.
    ``X_significant_vs_<condition>`` (no seed) is 1 if metric X differs significantly from that
    condition, or where the paper has a star, else 0. Contrasts are the comparisons of conditions,
    by paper. Nothing is judged if the run is not ``comparable``. Files of cells that are
    ``not_reproducible`` have the column ``reason``.

    Returns the columns ``COLUMNS``; papers, artifacts and cells in the order of the reported files,
    cells that only we have after them, differences and extras at the end of their artifact.
    Standard deviations are those of a sample (ddof 1), NaN below two seeds. ``difference`` is
    measured - reported. A DataError names file and line as for :func:`.measured_cells`, or if a
    reported metric has no tolerance or no contrast.
    """
    by_condition: dict[Key, list[rules.Contrast]] = {}
    for paper, declared in contrasts.items():
        for contrast in declared:
            key = (paper, contrast.artifact, contrast.condition)
            by_condition.setdefault(key, []).append(contrast)
    printed: dict[Key, float] = {}
    for line in read_cells(reported):
        _check_metric(line, by_condition)
        printed[line.key] = line.number("value")
    ours = measured_cells(measurements)
    listed = read_cells(not_reproducible, (*KEY, "reason"))
    reasons = {line.key: line.fields["reason"] for line in listed}
    endings = {"_significant": "boolean", "_n_seeds": "Int64", "_n_items": "Int64"}
    types = {name: kind for end, kind in endings.items() for name in COLUMNS if name.endswith(end)}
    frame = pd.DataFrame(_rows(printed, ours, by_condition, comparable), columns=list(COLUMNS))
    frame["reason"] = [
        "" if any(key in cells for cells in ours.values()) else reasons.get(key, "")
        for key in frame[list(KEY)].itertuples(index=False, name=None)
    ]
    papers, _ = pd.factorize(frame["paper"])
    artifacts, _ = pd.factorize(frame["paper"] + "/" + frame["artifact"])
    kinds = frame["kind"].map(_KINDS.index).to_numpy(dtype=int)
    return frame.astype(types).iloc[np.lexsort([kinds, artifacts, papers])].reset_index(drop=True)


def _rows(
    printed: Mapping[Key, float],
    ours: Mapping[str, Mapping[Key, Measured]],
    contrasts: _ByCondition,
    comparable: bool,
) -> Iterator[dict[str, object]]:
    """Yield a row for each cell, and one for each contrast of its condition."""
    # A paper marks only what is significant: no star is a result where the metric is tested at all.
    metrics = {(*key[:2], key[8]) for key in printed}
    for key in dict.fromkeys(chain(printed, *ours.values())):
        if _SIGNIFICANT in key[8]:
            continue
        measured = {protocol: cells.get(key) for protocol, cells in ours.items()}
        reported = printed.get(key, math.nan)
        kind = "value" if (*key[:2], key[8]) in metrics else "extra"
        stars: dict[str, bool] = {}
        differences = []
        for contrast in reversed(contrasts.get((key[0], key[1], key[4]), [])):
            star = (*key[:8], f"{key[8]}{_SIGNIFICANT}{contrast.baseline}")
            stars = {
                name: bool(cells[star].values[None])
                for name, cells in ours.items()
                if star in cells
            }
            if key in printed and (*key[:2], star[8]) in metrics:
                stars["reported"] = bool(printed.get(star))
            artifact = contrast.baseline_artifact or key[1]
            base = (key[0], artifact, *key[2:4], contrast.baseline, *key[5:])
            paired = {
                protocol: _paired(measured[protocol], cells.get(base))
                for protocol, cells in ours.items()
            }
            both = key in printed and base in printed
            if kind == "value" and (both or any(paired.values())):
                name = (*key[:8], f"{key[8]}_minus_{contrast.baseline}")
                difference = reported - printed.get(base, math.nan)
                differences.append(_row(name, "claim", difference, paired, stars, comparable))
        yield _row(key, kind, reported, measured, stars, comparable)
        yield from reversed(differences)


def _row(
    key: Key,
    kind: str,
    reported: float,
    measured: Mapping[str, Measured | None],
    stars: Mapping[str, bool],  # whether tests find a difference: ``reported``, by protocol
    comparable: bool,
) -> dict[str, object]:
    condition, metric = key[4], key[8]
    rule = rules.metric_of("gain_over_original" if kind == "claim" else metric, condition)
    if math.isnan(reported):
        rule = None
    star = stars.get("reported") if kind == "claim" else None
    row: dict[str, object] = dict(zip(KEY, key, strict=True)) | {
        "kind": kind,
        "reported": reported,
        "reported_significant": stars.get("reported"),
        "tolerance": rules.tolerance(rule, reported) if rule and star is None else math.nan,
    }
    for protocol, cell in measured.items():
        values = np.array(list(cell.values.values())) if cell else np.empty(0)
        mean = float(values.mean()) if len(values) else math.nan
        std = float(values.std(ddof=1)) if len(values) > 1 else math.nan
        if not len(values):  # an additional cell that was not run is not missing
            verdict = None if math.isnan(reported) else rules.NOT_RUN
        elif rule is None:
            verdict = rules.NO_REPORTED_VALUE
        elif not comparable:
            verdict = rules.NOT_COMPARABLE
        elif star is not None:
            verdict = rules.claim_verdict(reported, mean, star, stars.get(protocol))
        else:
            signed = kind == "claim" or rules.is_difference(metric, condition)
            error = std / math.sqrt(max(len(values), 1))
            verdict = rules.value_verdict(reported, mean, error, rule, signed=signed)
        row |= {
            f"{protocol}_mean": mean,
            f"{protocol}_std": std,
            f"{protocol}_n_seeds": sum(seed is not None for seed in cell.values) if cell else None,
            f"{protocol}_n_items": cell.n_items if cell else None,
            f"{protocol}_significant": stars.get(protocol) if len(values) else None,
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


def _check_metric(line: CellLine, contrasts: _ByCondition) -> None:
    """Raise an error if a metric has no tolerance, or a mark of significance no contrast."""
    paper, artifact, condition, metric = (line.key[place] for place in (0, 1, 4, 8))
    _, mark, baseline = metric.partition(_SIGNIFICANT)
    declared = [one.baseline for one in contrasts.get((paper, artifact, condition), [])]
    if not mark and rules.metric_of(metric, condition) is None:
        fix = "correct the name or add the metric to mbert_atlas/scorecard/rules.py"
        raise line.error(f"metric {metric!r} has no tolerance", fix)
    if mark and baseline not in declared:
        problem = f"no contrast of {condition!r} with {baseline!r} is declared for {artifact}"
        fix = f"correct the row or declare it in mbert_atlas/papers/{paper}/artifacts.py"
        raise line.error(problem, fix)
    if mark and line.number("value") not in (0, 1):
        raise line.error(f"significance {line.fields['value']!r}", "write 0 or 1")

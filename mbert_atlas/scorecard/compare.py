"""The scorecard: one row per reported or measured cell, and one per claim."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_path, open_text
from mbert_atlas.schemas import MEASUREMENT_COLUMNS
from mbert_atlas.scorecard import rules

KEY = MEASUREMENT_COLUMNS[:9]

_REPORTED_COLUMNS = (*KEY, "value")
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
``X_minus_<baseline>``; or ``extra``, ours alone, of a metric that the artifact does not report."""

_SIGNIFICANT = "_significant_vs_"

Key = tuple[str, ...]


class Measured(NamedTuple):
    """What was measured of one cell under one protocol.

    Attributes:
        values: seed (none where the value has no seed) to value.
        n_items: items behind one value; none if unknown.
    """

    values: dict[int | None, float]
    n_items: int | None


class _Stars(NamedTuple):
    """Whether a cell differs significantly from its baseline; none where that was not tested."""

    reported: bool | None
    ours: Mapping[str, bool | None]


_NO_STARS = _Stars(None, {})
_CONTRASTS: dict[tuple[str, str, str], list[rules.Contrast]] = {}
for _contrast in rules.CONTRASTS:
    _CONTRASTS.setdefault(_contrast[:3], []).append(_contrast)


def compare(
    measurements: Sequence[Path], reported: Sequence[Path], *, comparable: bool = True
) -> pd.DataFrame:
    """Lay measured values beside the papers' and judge each by the rule in :mod:`.rules`.

    Args:
        measurements: CSV files with the columns ``MEASUREMENT_COLUMNS``; values in the unit of
            the reported ones; one row per cell, protocol and seed, the seed empty where a value
            has none. ``X_significant_vs_<condition>`` (0 or 1, no seed) says whether metric X
            differs significantly from that condition.
        reported: CSV files with the first nine of these columns and ``value``.
            ``X_significant_vs_<condition>`` is 1 where the paper has a star.
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
    papers, paper_stars = _read_reported(reported)
    ours, our_stars = _read_measurements(measurements)
    # a paper marks only what is significant: no star is a result where the metric is tested at all
    tested = {(*key[:2], key[8]) for key in paper_stars}
    metrics = {(*key[:2], key[8]) for key in papers}
    rows = []
    for key in dict.fromkeys([*papers, *ours["published"], *ours["corrected"]]):
        cells = {str(protocol): ours[protocol].get(key) for protocol in PROTOCOLS}
        reported_value = papers.get(key, math.nan)
        contrasts = _CONTRASTS.get((key[0], key[1], key[4]), [])
        stars: list[_Stars] = []
        for contrast in contrasts:
            star = (*key[:8], f"{key[8]}{_SIGNIFICANT}{contrast.baseline}")
            is_tested = key in papers and (*key[:2], star[8]) in tested
            stars.append(
                _Stars(
                    paper_stars.get(star, False) if is_tested else None,
                    {protocol: our_stars[protocol].get(star) for protocol in PROTOCOLS},
                )
            )
        own = stars[0] if stars else _NO_STARS
        kind = "value" if (*key[:2], key[8]) in metrics else "extra"
        rows.append(_row(key, kind, reported_value, cells, own, comparable))
        for contrast, of_baseline in zip(contrasts, stars, strict=True):
            baseline = contrast.baseline
            base = (key[0], contrast.beside or key[1], *key[2:4], baseline, *key[5:])
            if key in papers and base in papers:
                rows.append(
                    _row(
                        (*key[:8], f"{key[8]}_minus_{baseline}"),
                        "claim",
                        reported_value - papers[base],
                        {
                            protocol: _paired(cells[protocol], ours[protocol].get(base))
                            for protocol in PROTOCOLS
                        },
                        of_baseline,
                        comparable,
                    )
                )
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    for column in frame.columns:
        if column.endswith("_significant"):
            frame[column] = frame[column].astype("boolean")
        elif column.endswith(("_n_seeds", "_n_items")):
            frame[column] = frame[column].astype("Int64")
    return _in_order(frame)


def write_scorecard(frame: pd.DataFrame, path: Path | str) -> None:
    """Write what :func:`compare` returns as CSV, atomically."""
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False, float_format="%.10g", lineterminator="\n")


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
    known = rule is not None and not math.isnan(reported)
    by_test = kind == "claim" and stars.reported is not None
    row: dict[str, object] = dict(zip(KEY, key, strict=True)) | {
        "kind": kind,
        "reported": reported,
        "reported_significant": stars.reported,
        "tolerance": (
            rules.tolerance(rule, reported) if rule and known and not by_test else math.nan
        ),
    }
    for protocol in PROTOCOLS:
        cell = measured[protocol]
        values = np.array(list(cell.values.values())) if cell else np.empty(0)
        mean = float(values.mean()) if len(values) else math.nan
        std = float(values.std(ddof=1)) if len(values) > 1 else math.nan
        verdict: str | None
        if not len(values):  # what the paper does not report is not missing either
            verdict = None if math.isnan(reported) else rules.NOT_RUN
        elif not known or rule is None:
            verdict = rules.NO_REPORTED_VALUE
        elif not comparable:
            verdict = rules.NOT_COMPARABLE
        elif by_test:
            verdict = rules.claim_verdict(
                reported,
                mean,
                reported_significant=bool(stars.reported),
                measured_significant=stars.ours.get(protocol),
            )
        else:
            verdict = rules.value_verdict(
                reported,
                mean,
                std / math.sqrt(max(len(values), 1)),
                rule,
                signed=kind == "claim" or rules.is_difference(metric, condition),
            )
        row |= {
            f"{protocol}_mean": mean,
            f"{protocol}_std": std,
            f"{protocol}_n_seeds": (
                sum(seed is not None for seed in cell.values) if cell else None
            ),
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


def _in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Bring the rows of one artifact together: values, claims, extras, each as they came."""
    papers = {paper: rank for rank, paper in enumerate(dict.fromkeys(frame["paper"]))}
    artifacts = {
        pair: rank
        for rank, pair in enumerate(
            dict.fromkeys(zip(frame["paper"], frame["artifact"], strict=True))
        )
    }
    ranks = pd.DataFrame(
        {
            "paper": frame["paper"].map(papers),
            "artifact": [
                artifacts[pair] for pair in zip(frame["paper"], frame["artifact"], strict=True)
            ],
            "kind": frame["kind"].map({"value": 0, "claim": 1, "extra": 2}),
            "place": range(len(frame)),
        }
    )
    order = ranks.sort_values(["paper", "artifact", "kind", "place"]).index
    return frame.loc[order].reset_index(drop=True)


def _read_reported(paths: Iterable[Path]) -> tuple[dict[Key, float], dict[Key, bool]]:
    values: dict[Key, float] = {}
    stars: dict[Key, bool] = {}
    seen: dict[Key, str] = {}
    for path in paths:
        for line, row in _rows(path, _REPORTED_COLUMNS):
            key = tuple(row[column] for column in KEY)
            _refuse_twice(seen, key, path, line)
            if _SIGNIFICANT in row["metric"]:
                stars[key] = _star(key, row["value"], path, line)
                continue
            if rules.metric_of(row["metric"], row["condition"]) is None:
                raise DataError(
                    path,
                    f"line {line}",
                    f"no tolerance is known for metric {row['metric']!r}",
                    "correct the name or add the metric to mbert_atlas/scorecard/rules.py",
                )
            values[key] = _number(row["value"], path, line)
    return values, stars


def _read_measurements(
    paths: Iterable[Path],
) -> tuple[dict[str, dict[Key, Measured]], dict[str, dict[Key, bool]]]:
    values: dict[str, dict[Key, Measured]] = {protocol: {} for protocol in PROTOCOLS}
    stars: dict[str, dict[Key, bool]] = {protocol: {} for protocol in PROTOCOLS}
    seen: dict[Key, str] = {}
    for path in paths:
        for line, row in _rows(path, MEASUREMENT_COLUMNS):
            key = tuple(row[column] for column in KEY)
            protocol = row["protocol"]
            if protocol not in PROTOCOLS:
                raise DataError(
                    path,
                    f"line {line}",
                    f"unknown protocol {protocol!r}",
                    f"use {' or '.join(PROTOCOLS)}",
                )
            seed = _whole(row["seed"], "seed", path, line)
            n_items = _whole(row["n"], "n", path, line)
            _refuse_twice(seen, (*key, protocol, str(seed)), path, line)
            if _SIGNIFICANT in row["metric"]:
                if seed is not None:
                    raise DataError(
                        path,
                        f"line {line}",
                        f"a significance of the single seed {seed}",
                        "test over all seeds together and leave the seed empty",
                    )
                stars[protocol][key] = _star(key, row["value"], path, line)
                continue
            value = _number(row["value"], path, line)
            cell = values[protocol].setdefault(key, Measured({}, n_items))
            if cell.values and (seed is None) != (None in cell.values):
                raise DataError(
                    path,
                    f"line {line}",
                    "the same cell has values with a seed and one without",
                    "give all of them seeds, or leave one row without",
                )
            cell.values[seed] = value
    return values, stars


def _rows(path: Path, columns: Sequence[str]) -> Iterable[tuple[int, dict[str, str]]]:
    """Yield line number and row of a CSV file whose header has ``columns``."""
    with open_text(path) as stream:
        reader = csv.reader(stream)
        header = next(reader)
        missing = [column for column in columns if column not in header]
        if missing:
            raise DataError(
                path,
                "line 1",
                f"no column {', '.join(missing)}",
                f"the header must be {','.join(columns)}",
            )
        for fields in reader:
            if not fields:
                continue
            if len(fields) != len(header):
                raise DataError(
                    path,
                    f"line {reader.line_num}",
                    f"{len(fields)} fields instead of {len(header)}",
                    "correct the row or make the file again",
                )
            yield reader.line_num, dict(zip(header, map(str.strip, fields), strict=True))


def _refuse_twice(seen: dict[Key, str], key: Key, path: Path, line: int) -> None:
    place = f"{path}, line {line}"
    if key in seen:
        raise DataError(
            path,
            f"line {line}",
            f"the cell {', '.join(part for part in key if part)} is already in {seen[key]}",
            "keep one of the two rows",
        )
    seen[key] = place


def _parse(text: str, kind: Callable[[str], float], wanted: str, path: Path, line: int) -> float:
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(
            path, f"line {line}", f"{text!r} is not {wanted}", "correct it or make the file again"
        )
    return value


def _number(text: str, path: Path, line: int) -> float:
    return _parse(text, float, "a finite number", path, line)


def _whole(text: str, column: str, path: Path, line: int) -> int | None:
    wanted = f"a whole number ({column})"
    return int(_parse(text, int, wanted, path, line)) if text else None


def _star(key: Key, text: str, path: Path, line: int) -> bool:
    baseline = key[8].split(_SIGNIFICANT)[1]
    contrasts = _CONTRASTS.get((key[0], key[1], key[4]), [])
    if baseline not in [contrast.baseline for contrast in contrasts]:
        raise DataError(
            path,
            f"line {line}",
            f"no contrast of {key[4]!r} with {baseline!r} is declared for {key[0]} {key[1]}",
            "correct the row or declare it in mbert_atlas/scorecard/rules.py",
        )
    value = _number(text, path, line)
    if value not in (0, 1):
        raise DataError(path, f"line {line}", f"significance {text!r}", "write 0 or 1")
    return bool(value)

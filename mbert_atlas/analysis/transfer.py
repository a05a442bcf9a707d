"""Zero-shot transfer: accuracy by condition, language and seed, and what differs significantly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from mbert_atlas.analysis.measurements import write_measurements
from mbert_atlas.analysis.significance import compare_runs, mean_correct
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import CLASS_PREDICTIONS

_LEVEL = 0.05


def measure_transfer(
    cells: Sequence[Mapping[str, Any]],
    output: Path | str,
    *,
    against: Mapping[str, str],
    **common: Any,
) -> pd.DataFrame:
    """Score predictions and test conditions against each other.

    Per seed the accuracy in percent; over seeds a two-sided paired t-test on the examples' mean
    correctness (efimov2022, section 5.1): 1 where p < .05, with effect size and the ends of the
    95% interval of the gain in points.

    Args:
        cells: one prediction file each: ``task``, ``condition``, ``protocol``, ``language``,
            ``seed``, ``dataset`` and ``path``.
        output: CSV file for the scorecard.
        against: which condition each tested condition is compared with.
        common: columns of all rows: paper, artifact, model, source.

    Raises:
        AtlasError: if conditions were evaluated on different examples.
    """

    @cache
    def predictions(path: str) -> pa.Table:
        return read_parquet(path, CLASS_PREDICTIONS)

    groups: dict[tuple[str, ...], list[tuple[int, pa.Table]]] = defaultdict(list)
    for cell in cells:
        names = ("task", "protocol", "language", "dataset", "condition")
        key = tuple(cell[name] for name in names)
        groups[key].append((cell["seed"], predictions(str(cell["path"]))))
    rows: list[dict[str, Any]] = []
    for (task, protocol, language, dataset, condition), runs in groups.items():
        common_here = {
            "task": task,
            "protocol": protocol,
            "target": language,
            "condition": condition,
        }
        for seed, table in runs:
            keys, right = mean_correct([table], dataset=dataset, language=language)
            accuracy = {"metric": "accuracy", "value": 100 * right.mean(), "n": len(keys)}
            rows.append({**common_here, **accuracy, "seed": seed})
        if condition in against:
            name = against[condition]
            baseline = groups[task, protocol, language, dataset, name]
            subset = {"dataset": dataset, "language": language}
            rows += ({**common_here, **row} for row in _against(name, baseline, runs, **subset))
    return write_measurements(rows, output, **common)


def _against(
    name: str,
    baseline: Sequence[tuple[int, pa.Table]],
    system: Sequence[tuple[int, pa.Table]],
    **subset: str,
) -> Iterator[dict[str, Any]]:
    test = compare_runs([run for _, run in baseline], [run for _, run in system], **subset)
    values = {
        f"accuracy_significant_vs_{name}": int(test.p_value < _LEVEL),
        f"accuracy_p_value_vs_{name}": test.p_value,
        f"accuracy_gain_vs_{name}_low": 100 * test.low,
        f"accuracy_gain_vs_{name}_high": 100 * test.high,
        f"accuracy_effect_size_vs_{name}": test.effect_size,
    }
    yield from ({"metric": metric, "value": value, "n": test.n} for metric, value in values.items())

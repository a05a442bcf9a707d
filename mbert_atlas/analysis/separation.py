"""Measurements of how far apart words are, from the summaries of distances; free of torch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from mbert_atlas.analysis.measurements import write_measurements
from mbert_atlas.files import read_json

_SHARES = {
    f"top_{count}_dimensions_share": f"l2_share_top{count}_dims_percent" for count in (10, 100)
}


def measure_separation(
    summaries: Iterable[Path | str],
    output: Path | str,
    *,
    panels: Collection[str],
    artifact: str,
    section: str | None = None,
    **common: Any,
) -> pd.DataFrame:
    """Write what a figure of distances says in numbers (efimov2022, Figures 1 and 2, section 5.4).

    By panel, language, protocol and seed: the mean L2 distances, their ratio, the separation AUC
    and the percentage of the squared distance in the 10 and 100 most influential dimensions.

    Args:
        summaries: JSON files ``<language>/seed<number>.json`` of what
            :func:`mbert_atlas.analysis.distances.summarise` returns, by ``panel:protocols``.
        output: CSV file for the scorecard.
        panels: those that the figure shows.
        artifact: the figure.
        section: also give, under this artifact, the shares averaged over languages and the models
            tuned on NLI (panels that end in ``nli``), as section 5.4 does.
        common: columns of all rows: paper, model, source.

    Raises:
        AtlasError: if there are no measurements.
    """
    rows = [
        {
            "artifact": artifact,
            "task": "word_distance",
            "condition": panel,
            "target": path.parent.name,
            "metric": metric,
            "value": value,
            "protocol": protocol,
            "seed": int(path.stem.removeprefix("seed")),
            "n": summary["related"]["n"],
        }
        for path in map(Path, summaries)
        for name, summary in read_json(path).items()
        for panel, protocols in [name.split(":")]
        if panel in panels
        for protocol in protocols.split("+")
        for metric, value in {
            "mean_ratio": summary["mean_ratio"],
            "separation_auc": summary["separation_auc"],
            "mean_distance_related": summary["related"]["mean"],
            "mean_distance_unrelated": summary["unrelated"]["mean"],
            "top_10_dimensions_share": 100 * summary["squared_distance_share"]["top10"]["all"],
            "top_100_dimensions_share": 100 * summary["squared_distance_share"]["top100"]["all"],
        }.items()
    ]
    shares: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for row in rows if section else ():
        if row["condition"].endswith("nli") and row["metric"] in _SHARES:
            shares[_SHARES[row["metric"]], row["protocol"], row["seed"]].append(row["value"])
    rows += [
        {
            "artifact": section,
            "task": "xnli",
            "condition": "all",
            "metric": metric,
            "value": sum(values) / len(values),
            "protocol": protocol,
            "seed": seed,
            "n": len(values),
        }
        for (metric, protocol, seed), values in shares.items()
    ]
    return write_measurements(rows, output, **common)

"""What the paper says about distances in its text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_SHARES = {
    f"top_{count}_dimensions_share": f"l2_share_top{count}_dims_percent" for count in (10, 100)
}


def average_shares(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of section 5.4: how much of the squared distance few dimensions carry.

    Args:
        rows: what :func:`mbert_atlas.analysis.separation.measure_separation` yields; the shares
            are averaged over languages and the models tuned on NLI (panels that end in ``nli``).
    """
    shares: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for row in rows:
        if row["condition"].endswith("nli") and row["metric"] in _SHARES:
            shares[_SHARES[row["metric"]], row["protocol"], row["seed"]].append(row["value"])
    for (metric, protocol, seed), values in shares.items():
        yield {
            "artifact": "section5.4",
            "task": "xnli",
            "condition": "all",
            "metric": metric,
            "value": sum(values) / len(values),
            "protocol": protocol,
            "seed": seed,
            "n": len(values),
        }

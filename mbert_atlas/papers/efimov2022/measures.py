"""Measures of Table 1, Figures 1 and 2, and section 5.4."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mbert_atlas.cells import Cell
from mbert_atlas.files import read_json

_SHARES = {
    "top_10_dimensions_share": "l2_share_top10_dims_percent",
    "top_100_dimensions_share": "l2_share_top100_dims_percent",
}


def count_articles(cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    """Yield the articles of each Wikipedia (Table 1), from the cards of the dataset."""
    for cell in cells:
        count = read_json(Path(cell.path))["counts"]["articles"]
        yield cell.columns | {"value": count, "n": count}


def measure_separation(cells: Sequence[Cell], shares: bool) -> list[dict[str, Any]]:
    """Return the rows of a figure of distances, see :mod:`mbert_atlas.analysis.distances`.

    Each cell is the JSON file of a language and seed. ``shares`` adds the rows of section 5.4,
    which is about all NLI models.
    """
    rows = [row for cell in cells for row in _separations(cell)]
    return [*rows, *average_shares(rows)] if shares else rows


def _separations(cell: Cell) -> Iterator[dict[str, Any]]:
    summaries = read_json(Path(cell.path))
    for summary in sorted(summaries, key=lambda item: (item["panel"], item["protocols"])):
        shares = summary["squared_distance_share"]
        values = {
            "mean_ratio": summary["mean_ratio"],
            "separation_auc": summary["separation_auc"],
            "mean_distance_related": summary["related"]["mean"],
            "mean_distance_unrelated": summary["unrelated"]["mean"],
            "top_10_dimensions_share": 100 * shares["top10"],
            "top_100_dimensions_share": 100 * shares["top100"],
        }
        row = cell.columns | {"task": "word_distance", "condition": summary["panel"]}
        row["n"] = summary["related"]["n"]
        for protocol in summary["protocols"]:
            for metric, value in values.items():
                yield {**row, "metric": metric, "value": value, "protocol": protocol}


def average_shares(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the share of the squared distance in few dimensions, mean over languages and models."""
    shares: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for row in rows:
        if row["condition"].endswith("nli") and row["metric"] in _SHARES:
            shares[_SHARES[row["metric"]], row["protocol"], row["seed"]].append(row["value"])
    place = {"artifact": "section5.4", "task": "xnli", "condition": "all"}
    for (metric, protocol, seed), values in shares.items():
        mean = {"metric": metric, "value": sum(values) / len(values), "n": len(values)}
        yield place | mean | {"protocol": protocol, "seed": seed}

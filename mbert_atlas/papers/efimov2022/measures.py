"""Measures of Table 1, Figures 1 and 2, and section 5.4; the floor of Table 3; word links."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.analysis.scores import TagItem, f1_score, sentence_counts
from mbert_atlas.analysis.scoring import rows_of
from mbert_atlas.cells import Cell
from mbert_atlas.files import read_json

_SHARES = {
    "top_10_dimensions_share": "l2_share_top10_dims_percent",
    "top_100_dimensions_share": "l2_share_top100_dims_percent",
}
_UNITS: dict[str, TagItem] = {"published": "entity", "corrected": "token"}


def count_articles(cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    """Yield the articles of each Wikipedia (Table 1), from the cards of the dataset."""
    for cell in cells:
        count = read_json(Path(cell.path))["counts"]["articles"]
        yield cell.columns | {"value": count, "n": count}


def measure_constant(cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    """Yield the F1 of giving all words one tag, the one that suits each test set best.

    What a tagger has to exceed to have learned anything. Cells have predictions of NER, of which
    the gold tags count. Entities count under ``published`` and words under ``corrected``, as in
    :class:`mbert_atlas.analysis.scoring.EntityScoring`.
    """
    for cell in cells:
        table = rows_of(cell)
        ids, lengths = table["example_id"].to_pylist(), pc.list_value_length(table["gold"])
        place, scores = table.schema.get_field_index("prediction"), []
        field, unit = table.schema.field(place), _UNITS[cell.protocol]
        for tag in pc.unique(pc.list_flatten(table["gold"])).to_pylist():
            tags = pa.array([[tag] * n for n in lengths.to_pylist()], field.type)
            constant = table.set_column(place, field, tags)
            scores.append(f1_score(sentence_counts(constant, unit=unit), ids))
        best = max(scores, key=lambda score: float(score["value"]))
        n = int(pc.sum(lengths).as_py())
        yield cell.columns | {"condition": "constant", "metric": "token_f1", "n": n} | best


def measure_links(cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    """Yield the error rate of word links and the share of right training pairs, in percent.

    Cells have the cards that :func:`mbert_atlas.alignment.bitext.align` returns.
    """
    for cell in cells:
        card = read_json(Path(cell.path))
        for metric, n in (("aer", "sentences"), ("pairs_right", "pairs")):
            yield cell.columns | {"metric": metric, "value": 100 * card[metric], "n": card[n]}


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

"""Retrieval and inference by embedding, token translation by layer and weight, shifted transfer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mbert_atlas.analysis.token_overlap import token_set
from mbert_atlas.analysis.transfer import Cell, scores_of
from mbert_atlas.arrays import TokenStore

BLEU = {"published": "mean_bleu", "corrected": "corpus_bleu"}
"""Which BLEU-1 a protocol shows: the mean over sentences, or of all sentences together."""
_TEST, _DEVELOPMENT = 0, 1
Row = dict[str, Any]


def measure_retrieval(
    tables: Iterable[tuple[str, int, str, pd.DataFrame]], protocols: Sequence[str]
) -> Iterator[Row]:
    """Yield the mean reciprocal rank of words' translations (Figures 1, 3, 5).

    ``published`` is from the other language to English, as "XX-En" in the text has it;
    ``corrected`` the mean of both directions. Both look at the last layer; the others are there
    with their number in ``layers``.

    Args:
        tables: condition, seed, language and what ``retrieve_words`` wrote.
        protocols: which.
    """
    for condition, seed, language, table in tables:
        raw = table[~table["centred"]]
        last = raw["layer"].max()
        for protocol in protocols:
            shown = raw[raw["source"] == language] if protocol == "published" else raw
            for layer, rows in shown.groupby("layer"):
                # Static vectors have one layer, which needs no number.
                for number in [*([""] if layer == last else []), *([str(layer)] if last else [])]:
                    yield {
                        **{"condition": condition, "source": "en", "target": language},
                        **{"layers": number, "metric": "mrr", "value": 100 * rows["mrr"].mean()},
                        **{"protocol": protocol, "seed": seed, "n": int(rows["n"].sum())},
                    }


def with_means(rows: Iterable[Row], mean: str = "avg", **fixed: Any) -> Iterator[Row]:
    """Yield rows with some columns, and behind them their means over languages but English.

    Args:
        rows: with ``target``, ``value`` and ``n``.
        mean: the target that means are of.
        fixed: columns of all rows.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        yield row | fixed
        if row["target"] != "en":
            key = tuple((name, row[name]) for name in row if name not in ("target", "value", "n"))
            groups.setdefault(key, []).append(row)
    for key, members in groups.items():
        value = sum(row["value"] for row in members) / len(members)
        items = sum(row["n"] for row in members)
        yield dict(key) | fixed | {"target": mean, "value": value, "n": items}


def measure_inference(cells: Iterable[tuple[Cell, int]]) -> Iterator[Row]:
    """Yield the accuracy of XNLI by language, of runs that stand for a seed of their embeddings."""
    for cell, seed in cells:
        scores, n = scores_of(cell)
        yield {
            **{"condition": cell.condition, "source": cell.source, "target": cell.language},
            **{"metric": "accuracy", "value": scores["accuracy"]},
            **{"protocol": cell.protocol, "seed": seed, "n": n},
        }


def relative_drop(rows: Sequence[Row], long: str, short: str) -> Iterator[Row]:
    """Yield by how many percent a condition's values lie below another's (Figure 6b).

    Args:
        rows: with ``condition``, ``target``, ``protocol``, ``seed`` and ``value``.
        long: the condition that is 100%.
        short: the other one.
    """
    # 60 with the long window and 54 with the short one: a drop of 10%.
    keys = ("source", "target", "protocol", "seed")
    whole = {tuple(row[key] for key in keys): row for row in rows if row["condition"] == long}
    for row in rows:
        place = tuple(row[key] for key in keys)
        if row["condition"] == short and place in whole:
            drop = 100 * (1 - row["value"] / whole[place]["value"])
            size = short.rpartition("_")[2]
            drawn = {"condition": size, "metric": "accuracy_drop_percent", "value": drop}
            yield row | drawn


# ---- token translation


def by_protocol(table: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """Return a direction's scores on the test set under a protocol.

    Args:
        table: what ``translate_tokens`` wrote.
        protocol: decides the means and the BLEU-1.

    Returns:
        Columns ``layer``, ``weight``, ``bleu1``, ``convert_rate`` (0 to 1), ``n``, and ``chosen``:
        the BLEU-1 that settings are chosen by, of the test set itself under ``published``.
    """
    own = table[table["protocol"] == protocol]
    own = own.assign(
        bleu1=own[BLEU[protocol]], convert_rate=own["converted"] / own["counted"].clip(lower=1)
    )
    test, development = (
        own[own["part"] == part].set_index(["layer", "weight"]) for part in (_TEST, _DEVELOPMENT)
    )
    chosen = (test if protocol == "published" else development)["bleu1"].rename("chosen")
    return test[["bleu1", "convert_rate", "n"]].join(chosen).reset_index()


def measure_translation(
    tables: Mapping[tuple[str, str], pd.DataFrame],
    protocols: Sequence[str],
    *,
    layers: Sequence[int],
    best_of: Sequence[float],
    score_layer: int,
    rate_layer: int,
) -> Iterator[Row]:
    """Yield BLEU-1 and convert rates of all directions (Table 2).

    Args:
        tables: what ``translate_tokens`` wrote, by source and target.
        protocols: which.
        layers: those that the best is chosen from.
        best_of: weights that it is chosen from; the last one is that of the first line.
        score_layer: layer of the first line.
        rate_layer: layer of the convert rates.
    """
    for (source, target), table in tables.items():
        for protocol in protocols:
            rows: list[Row] = by_protocol(table, protocol).to_dict("records")  # type: ignore[assignment]
            at = {(row["layer"], row["weight"]): row for row in rows}
            best = max(
                (at[layer, weight] for layer in layers for weight in best_of),
                key=lambda row: row["chosen"],
            )
            top = f"alpha={best_of[-1]:g}", str(score_layer), at[score_layer, best_of[-1]]
            shown = [
                (*top, "bleu1", "bleu1"),
                ("best", "", best, "bleu1", "bleu1"),
                ("best", "", best, "best_layer", "layer"),
                ("best", "", best, "best_alpha", "weight"),
            ]
            for weight in best_of:
                place = f"alpha={weight:g}", str(rate_layer), at[rate_layer, weight]
                shown.append((*place, "convert_rate", "convert_rate"))
            for condition, number, row, metric, column in shown:
                yield {
                    **{"source": source, "target": target, "condition": condition},
                    **{"layers": number, "metric": metric, "value": row[column], "n": row["n"]},
                    **{"protocol": protocol, "seed": 0},
                }


def by_weight(
    table: pd.DataFrame, protocols: Sequence[str], metrics: Sequence[str], **columns: Any
) -> Iterator[Row]:
    """Yield scores of one direction by layer and weight (Figures 7 and 8)."""
    for protocol in protocols:
        rows: list[Any] = by_protocol(table, protocol).to_dict("records")
        for row in rows:
            for metric in metrics:
                yield {
                    **columns,
                    **{"condition": f"alpha={row['weight']:g}", "layers": str(row["layer"])},
                    **{"metric": metric, "value": row[metric], "n": row["n"]},
                    **{"protocol": protocol, "seed": 0},
                }


def count_token_sets(sentences: TokenStore, protocols: Sequence[str]) -> Iterator[Row]:
    """Yield how many tokens each language has, and how many of them English has too (Table 3).

    Args:
        sentences: parallel sentences, see :func:`mbert_atlas.encoding.parallel.encode_parallel`.
        protocols: which.
    """
    languages, ids = sentences.meta["languages"], sentences.ragged("input_ids")
    size, count = int(ids.values.max()) + 1, len(sentences.dense("part"))
    sets = {
        code: token_set(ids.take(np.arange(place * count, (place + 1) * count)), size)
        for place, code in enumerate(languages)
    }
    for code, own in sets.items():
        for metric, found in (
            ("n_tokens_in_language", own),
            ("n_tokens_shared_with_english", own & sets["en"]),
        ):
            for protocol in protocols:
                place = {"condition": "", "source": "en", "target": code, "layers": ""}
                yield place | {
                    **{"metric": metric, "value": int(found.sum()), "n": count},
                    **{"protocol": protocol, "seed": 0},
                }


def samples(
    sentences: TokenStore,
    tokenizer: Any,
    tables: Mapping[str, pd.DataFrame],
    *,
    shown: Mapping[str, Sequence[int]],
    layer: int,
    weights: Sequence[float],
) -> list[dict[str, str]]:
    """Return sentences, their translations, and what the shift makes of them (Table 1).

    Args:
        sentences: see :func:`count_token_sets`.
        tokenizer: of its ids.
        tables: what ``translate_tokens`` wrote from English, by target language.
        shown: sorted numbers of sentences by target language.
        layer: the layer that is shifted.
        weights: of the shift.

    Returns:
        Rows of texts, by heading.
    """
    languages, ids = sentences.meta["languages"], sentences.ragged("input_ids")
    count = len(sentences.dense("part"))

    def text(number: int, code: str) -> str:
        return str(tokenizer.decode(ids[languages.index(code) * count + number].tolist()))

    found = []
    for code, table in tables.items():
        own = table[(table["layer"] == layer) & (table["protocol"] == "published")]
        # Samples follow each other in the order of the sentences' parts, as `shown` does in each.
        by_weight = {
            weight: [text for some in rows.sort_values("part")["samples"] for text in some]
            for weight, rows in own.groupby("weight")
        }
        for place, number in enumerate(shown[code]):
            found.append({"direction": f"en-{code}", "what": "input", "text": text(number, "en")})
            found.append({"direction": "", "what": "translation", "text": text(number, code)})
            found += [
                {"direction": "", "what": f"alpha = {weight:g}", "text": by_weight[weight][place]}
                for weight in weights
            ]
    return found


# ---- shifted transfer


def measure_shifted(
    tables: Iterable[tuple[str, int, str, pd.DataFrame]],
    *,
    test: str,
    development: str,
    chosen_in: str,
) -> Iterator[Row]:
    """Yield accuracies with and without the shift, and its weights (Table 4).

    ``published`` takes for each language the weight that is best on its own development set;
    ``corrected`` one for all, the best on those of English and one other language together.

    Args:
        tables: condition, seed, protocol and what ``classify_shifted`` wrote of a run.
        test: the test set.
        development: the development set.
        chosen_in: the other language.
    """
    for condition, seed, protocol, table in tables:
        own = table[table["protocol"] == protocol]
        own = own.assign(value=100 * own["right"] / own["n"])
        scores, tuned = (
            own[own["dataset"] == name].pivot(index="weight", columns="language", values="value")
            for name in (test, development)
        )
        n = own[own["dataset"] == test].groupby("language")["n"].first()
        best: dict[Any, Any] = tuned.idxmax().to_dict()  # the smallest of equals
        if protocol == "corrected":
            best = dict.fromkeys(best, tuned[["en", chosen_in]].mean(axis=1).idxmax())
        for language in scores.columns:
            here = {"source": "en", "target": language, "protocol": protocol, "seed": seed}
            here |= {"metric": "accuracy", "n": int(n[language])}
            yield here | {"condition": condition, "value": scores[language][0]}
            if language != "en":
                shown = {"condition": f"{condition}+mds"}
                yield here | shown | {"value": scores[language][best[language]]}
                weight = {"metric": "shift_weight_alpha", "value": best[language]}
                yield here | shown | weight

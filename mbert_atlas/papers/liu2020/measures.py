"""Word retrieval and zero-shot XNLI by embedding, token translation, transfer with a shift."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mbert_atlas.analysis.resampling import RESAMPLED, RESAMPLES, combined, mean_of, resampled_mean
from mbert_atlas.analysis.retrieval import mrr_by_chance
from mbert_atlas.analysis.scoring import scores_of
from mbert_atlas.arrays import TokenStore, load_arrays
from mbert_atlas.cells import Cell
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.encoding.texts import parallel_sentences, token_set
from mbert_atlas.files import read_parquet
from mbert_atlas.papers.liu2020.config import DEVELOPMENT, LONG_WINDOW, SHORT_WINDOW, TEST
from mbert_atlas.schemas import DICTIONARY

_BLEU = {"published": "mean_bleu", "corrected": "corpus_bleu"}
_RATES = {
    "convert_rate": ("converted", "counted"),
    "translated_rate": ("translated", "converted"),  # in the reference
    "third_language_rate": ("in_neither", "tokens"),
    "source_rate": ("in_source", "tokens"),
}
"""Numerator and denominator in ``schemas.TOKEN_TRANSLATIONS``, numbers of tokens."""
_SCORE = ["value", "n", RESAMPLED]
RANDOM_SHIFT = "+random_shift"
"""End of a condition of ours: shifted by a random vector as long as the difference of means."""
_SHIFTS = {"means": "+mds", "random": RANDOM_SHIFT}
Row = dict[str, Any]


def measure_retrieval(cells: Sequence[Cell]) -> Iterator[Row]:
    """Yield the mean reciprocal rank of words' translations in percent (Figures 1, 3, 5).

    ``published`` retrieves English translations only ("XX-En" in the text), ``corrected`` averages
    both directions. Rows without ``layers`` are of the last layer; they have ``mrr_by_chance``,
    too, that of candidates in random order. Cells have ``schemas.RETRIEVALS`` as ``ranks``, and the
    ``dictionary``.
    """
    return with_means(row for cell in cells for row in _reciprocal_ranks(cell))


def _reciprocal_ranks(cell: Cell) -> Iterator[Row]:
    ranks = read_parquet(cell.paths["ranks"]).to_pandas()
    ranks = ranks[~ranks["centred"]]
    pairs = read_parquet(cell.paths["dictionary"], DICTIONARY).to_pandas()
    sides = {"en": ("source", "target"), cell.language: ("target", "source")}
    chance = {code: mrr_by_chance(*(pairs[side] for side in sides[code])) for code in sides}
    last = ranks["layer"].max()
    for protocol in PROTOCOLS:
        scores = ranks[ranks["source"] == cell.language] if protocol == "published" else ranks
        for layer, rows in scores.groupby("layer"):
            # Static vectors have one layer, which needs no number.
            value, n = 100 * rows["mrr"].mean(), int(rows["n"].sum())
            again = combined((100 / len(rows), {RESAMPLED: item}) for item in rows[RESAMPLED])
            for number in [*([""] if layer == last else []), *([str(layer)] if last else [])]:
                place = {"source": "en", "layers": number, "protocol": protocol, "metric": "mrr"}
                yield cell.columns | place | {"value": value, "n": n} | again
        constant = 100 * float(np.mean([chance[code] for code in scores["source"].unique()]))
        place |= {"layers": "", "metric": "mrr_by_chance"}
        again = {RESAMPLED: np.full(RESAMPLES, constant, np.float32)}
        yield cell.columns | place | {"value": constant, "n": n} | again


def with_means(rows: Iterable[Row], mean: str = "avg") -> Iterator[Row]:
    """Yield rows, then their means over languages other than English, of the target ``mean``."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        yield row
        if row["target"] != "en":
            values = ("target", "value", "n", RESAMPLED)
            key = tuple((name, row[name]) for name in row if name not in values)
            groups.setdefault(key, []).append(row)
    for key, members in groups.items():
        n = sum(row["n"] for row in members)
        yield dict(key) | {"target": mean, "n": n} | mean_of(members)


def measure_xnli(cells: Sequence[Cell]) -> Iterator[Row]:
    """Yield the accuracy of XNLI by language in percent (Figures 2, 4, 6a)."""
    return with_means(map(_accuracy, cells))


def _accuracy(cell: Cell) -> Row:
    return cell.columns | {"metric": "accuracy"} | scores_of(cell)["accuracy"]


def measure_accuracy_drop(cells: Sequence[Cell]) -> Iterator[Row]:
    """Yield by how many percent the short window lowers the accuracy of XNLI (Figure 6b).

    Cells have their ``window`` among the facts; both windows of one size share a condition.
    """
    # 60 with the long window and 54 with the short one: a drop of 10%.
    keys = ("condition", "target", "protocol", "seed")
    by_window: dict[str, dict[tuple[Any, ...], Row]] = {LONG_WINDOW: {}, SHORT_WINDOW: {}}
    for cell in cells:
        row = _accuracy(cell)
        by_window[cell.facts["window"]][tuple(row[key] for key in keys)] = row
    drops = []
    for place, row in by_window[SHORT_WINDOW].items():
        if whole := by_window[LONG_WINDOW].get(place):
            values = {
                name: 100 * (1 - row[name] / np.maximum(whole[name], 1e-6))
                for name in ("value", RESAMPLED)
            }
            drops.append(row | {"metric": "accuracy_drop_percent"} | values)
    return with_means(drops)


# Token translation


def _translation_scores(
    cells: Sequence[Cell], *, at_random: bool = False
) -> Iterator[tuple[Row, list[Row]]]:
    """Yield, by direction and protocol, the columns of its rows, and its scores on the test set.

    Of sentences that are shifted by the difference of means, or ``at_random``, then by seed, too;
    a fitted head has the random shifts of its seed.

    The scores have the columns ``layer``, ``weight``, ``bleu1`` (``published`` averages it over
    sentences, ``corrected`` computes it over the corpus), those of ``_RATES`` (0 to 1), ``n``, and
    ``chosen``, the BLEU-1 by which settings are chosen: of the test set itself under ``published``.
    ``resampled`` has BLEU-1 and the rates on resamples of the sentences, by name.

    A rate is of tokens in sentences, which are clusters: whole sentences are resampled (Davison and
    Hinkley 1997, section 3.8: tokens within them as well would count their variance twice), and n
    is the number of tokens, as of all other scores of words. With n sentences instead, a rate of 0
    in 20 of them could be .25.
    """
    for cell in cells:
        table = read_parquet(cell.path).to_pandas().set_index(["layer", "weight"])
        table = table[table["seed"].notna() == at_random]
        parts = table.groupby(["protocol", "seed"], sort=False, dropna=False)
        for (protocol, seed), scores in parts:
            scores = scores.assign(**_bleu_and_rates(scores, protocol))
            test, development = (scores[scores["part"] == part] for part in (TEST, DEVELOPMENT))
            chosen = (test if protocol == "published" else development)["bleu1"].rename("chosen")
            rows: list[Any] = test.join(chosen).reset_index().to_dict("records")
            yield (
                cell.columns | {"protocol": protocol} | ({"seed": int(seed)} if at_random else {}),
                [row | {RESAMPLED: _bleu_and_rates(row, protocol, "resampled_")} for row in rows],
            )


def _bleu_and_rates(columns: Any, protocol: str, prefix: str = "") -> Row:
    """Return BLEU-1 and the rates, of a table or of a row of it, from columns with a prefix."""
    return {"bleu1": columns[prefix + _BLEU[protocol]]} | {
        name: columns[prefix + part] / np.maximum(columns[prefix + of], 1)
        for name, (part, of) in _RATES.items()
    }


def measure_translation(
    cells: Sequence[Cell],
    *,
    layers: int,
    best_of: Sequence[float],
    score_layer: int,
    rate_layer: int,
) -> Iterator[Row]:
    """Yield BLEU-1 and convert rates of all directions (Tables 1 and 2).

    Cells have ``schemas.TOKEN_TRANSLATIONS``. The best setting is chosen from all ``layers`` and
    the weights ``best_of``, whose last one is that of the first line, of ``score_layer``; the
    rates, see ``_RATES``, are of ``rate_layer``, ``source_rate`` only with negative weights. Two
    rates are also those of shifts by random vectors, conditions like ``alpha=3+random_shift``.
    """
    for place, scores in _translation_scores(cells):
        at = {(row["layer"], row["weight"]): row for row in scores}
        settings = [at[layer, weight] for layer in range(1, layers + 1) for weight in best_of]
        best = max(settings, key=lambda row: row["chosen"])
        yield place | _setting(at[score_layer, best_of[-1]], "bleu1")
        best_place = place | {"condition": "best", "layers": ""}
        yield place | _setting(best, "bleu1") | best_place
        for metric, column in (("best_layer", "layer"), ("best_alpha", "weight")):
            yield best_place | {"metric": metric, "value": best[column], "n": best["n"]}
        for weight in best_of:
            for rate in ("convert_rate", "translated_rate", "third_language_rate"):
                yield from _rate(place, at[rate_layer, weight], rate)
        for (layer, weight), row in at.items():
            if layer == rate_layer and weight < 0:
                yield from _rate(place, row, "source_rate")
    for place, scores in _translation_scores(cells, at_random=True):
        for row in scores:
            if row["layer"] == rate_layer and row["weight"] in best_of:
                for rate in ("convert_rate", "translated_rate"):
                    for number in _rate(place, row, rate):
                        yield number | {"condition": number["condition"] + RANDOM_SHIFT}


def _setting(row: Row, metric: str) -> Row:
    place = {"condition": f"alpha={row['weight']:g}", "layers": str(row["layer"])}
    score = {"value": row[metric], "n": row["n"], RESAMPLED: row[RESAMPLED][metric]}
    return place | {"metric": metric} | score


def _rate(place: Row, row: Row, metric: str) -> Iterator[Row]:
    """Yield a rate of ``_RATES``, whose n are tokens; without any there is none."""
    if n := int(row[_RATES[metric][1]]):
        yield place | _setting(row, metric) | {"n": n}


def measure_head(cells: Sequence[Cell]) -> Iterator[Row]:
    """Yield the accuracy of the language-model head at masked subwords in percent, by language.

    And that of always predicting the language's most frequent subword, ``most_frequent_accuracy``.
    Resamples are of rows. Cells have ``schemas.MASKED_PREDICTIONS``.
    """
    for cell in cells:
        for code, rows in read_parquet(cell.path).to_pandas().groupby("language"):
            gold, ids = rows["gold"], rows["row"].astype(str).tolist()
            constants = {"masked": rows["prediction"], "most_frequent": gold.mode()[0]}
            for name, prediction in constants.items():
                right = 100.0 * (gold == prediction).to_numpy()
                score = {"value": right.mean(), RESAMPLED: resampled_mean(right, ids)}
                row = {"target": code, "metric": f"{name}_accuracy", "n": len(rows)}
                yield cell.columns | row | score


def measure_by_weight(cells: Sequence[Cell], *, metric: str) -> Iterator[Row]:
    """Yield ``bleu1`` or ``convert_rate`` by layer and weight (Figures 7 and 8)."""
    for place, scores in _translation_scores(cells):
        for row in scores:
            yield from (
                _rate(place, row, metric) if metric in _RATES else [place | _setting(row, metric)]
            )


def measure_by_depth(
    cells: Sequence[Cell], *, best_of: Sequence[float], first: int, last: int
) -> Iterator[Row]:
    """Yield mean BLEU-1 by depth, direction and weight of ``best_of`` (section 4.2.2).

    The mean over the layers ``first`` to ``last`` has the ``layers`` ``last``, that over the layers
    from 1 to below ``first`` has ``earlier``. Cells have ``schemas.TOKEN_TRANSLATIONS``.
    """
    for place, scores in _translation_scores(cells):
        for name, low, high in (("last", first, last), ("earlier", 1, first - 1)):
            for weight in best_of:
                some = [
                    _setting(row, "bleu1") | {"layers": name}
                    for row in scores
                    if low <= row["layer"] <= high and row["weight"] == weight
                ]
                if some:
                    yield place | some[0] | {RESAMPLED: None} | mean_of(some)


def count_token_sets(cells: Sequence[Cell]) -> Iterator[Row]:
    """Yield the tokens of each language's test sentences, and those English has too (Table 3).

    The cell has parallel sentences as :mod:`mbert_atlas.encoding.texts` writes them.
    """
    (cell,) = cells
    sentences = load_arrays(cell.path)
    size = sentences.ragged("input_ids").values.max() + 1
    numbers = np.flatnonzero(sentences.dense("part") == TEST)
    sets = {
        code: token_set(parallel_sentences(sentences, code).take(numbers), size)
        for code in sentences.meta["languages"]
    }
    for code, tokens in sets.items():
        shared = tokens & sets["en"]
        counts = {"n_tokens_in_language": tokens, "n_tokens_shared_with_english": shared}
        for metric, counted in counts.items():
            row = {"source": "en", "target": code, "metric": metric, "n": len(numbers)}
            yield row | {"value": int(counted.sum())}


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

    Sorted numbers of sentences are ``shown`` by target language. Tables, by it, have the columns of
    ``schemas.TOKEN_TRANSLATIONS``, from English.
    """
    ids = {code: parallel_sentences(sentences, code) for code in ("en", *tables)}
    texts = []
    for code, table in tables.items():
        rows = table[(table["layer"] == layer) & (table["protocol"] == "published")]
        rows = rows[rows["seed"].isna()]
        # Samples follow each other in the order of the sentences' parts, as `shown` does in each.
        by_weight = {
            weight: [text for some in part.sort_values("part")["samples"] for text in some]
            for weight, part in rows.groupby("weight")
        }
        for place, number in enumerate(shown[code]):
            lines = {
                what: str(tokenizer.decode(ids[side][number].tolist()))
                for what, side in (("input", "en"), ("translation", code))
            }
            lines |= {f"alpha = {weight:g}": by_weight[weight][place] for weight in weights}
            for what, line in lines.items():
                direction = f"en-{code}" if what == "input" else ""
                texts.append({"direction": direction, "what": what, "text": line})
    return texts


# Transfer with a shift


def measure_shifted(
    cells: Sequence[Cell], *, test: str, development: str, chosen_in: str
) -> Iterator[Row]:
    """Yield accuracies with and without the shift, and its weights (Table 4).

    ``published`` takes for each language the weight that is best on its development set,
    ``corrected`` one for all languages: the best on those of English and of ``chosen_in``; the same
    for shifts by random vectors. Cells have predictions; or, as ``shifted``, files with columns of
    ``schemas.SHIFTED_SCORES``.
    """
    rows: list[Row] = []
    for cell in cells:
        if "shifted" in cell.paths:
            rows += _shifted_accuracies(cell, test, development, chosen_in)
        else:
            rows.append(_accuracy(cell))
    return with_means(rows, "avg_without_en")


def _shifted_accuracies(cell: Cell, test: str, development: str, chosen_in: str) -> Iterator[Row]:
    table = read_parquet(cell.paths["shifted"]).to_pandas()
    table = table.assign(value=100 * table["right"] / table["n"])
    for shift, scores in table.groupby("shift"):
        tested = scores[scores["dataset"] == test].set_index(["language", "weight"])
        tuned = scores[scores["dataset"] == development].pivot_table("value", "weight", "language")
        best: dict[Any, Any] = tuned.idxmax().to_dict()  # the smallest of equals
        if cell.protocol == "corrected":
            best = dict.fromkeys(best, tuned[["en", chosen_in]].mean(axis=1).idxmax())
        for language, chosen in best.items():
            row = cell.columns | {"source": "en", "target": language, "metric": "accuracy"}
            if shift == "means":
                yield row | tested.loc[(language, 0), _SCORE].to_dict()
            if language != "en":
                row["condition"] += _SHIFTS[shift]
                shifted = row | tested.loc[(language, chosen), _SCORE].to_dict()
                yield shifted
                weight = {"metric": "shift_weight_alpha", "value": chosen}
                yield row | weight | {"n": shifted["n"]}

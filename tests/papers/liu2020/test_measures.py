"""What the tables and figures say, from scores by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from configs import ROOT, config

from mbert_atlas.arrays import Ragged, TokenStore
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.papers.liu2020.figures import shown
from mbert_atlas.papers.liu2020.measures import (
    by_weight,
    count_token_sets,
    measure_retrieval,
    measure_shifted,
    measure_translation,
    relative_drop,
    samples,
    with_means,
)


def test_retrieval_is_of_the_last_layer() -> None:
    rows = [
        {"layer": layer, "source": source, "mrr": mrr + centred, "n": 10, "centred": centred}
        for layer, source, mrr in [(0, "en", 0.1), (0, "de", 0.2), (1, "en", 0.3), (1, "de", 0.5)]
        for centred in (False, True)
    ]
    found = list(measure_retrieval([("bert", 1, "de", pd.DataFrame(rows))], PROTOCOLS))
    values = {(row["protocol"], row["layers"]): row["value"] for row in found}
    assert values == pytest.approx(
        {
            ("published", ""): 50,
            ("published", "0"): 20,
            ("published", "1"): 50,
            ("corrected", ""): 40,
            ("corrected", "0"): 15,
            ("corrected", "1"): 40,
        }
    )


def test_means_leave_english_out() -> None:
    base = {"condition": "a", "source": "en", "protocol": "published", "seed": 1, "n": 5}
    rows = [
        base | {"target": target, "value": value}
        for target, value in [("en", 90.0), ("de", 50.0), ("fr", 60.0)]
    ]
    found = list(with_means(rows, task="xnli"))
    assert found[-1] == base | {"target": "avg", "value": 55.0, "n": 10, "task": "xnli"}
    assert len(found) == 4


def test_the_drop_is_relative() -> None:
    base = {"source": "en", "target": "de", "protocol": "published", "seed": 1}
    rows = [
        base | {"condition": name, "value": value}
        for name, value in [("bert_512_200k", 60.0), ("bert_20_200k", 54.0)]
    ]
    (row,) = relative_drop(rows, "bert_512_200k", "bert_20_200k")
    assert (row["condition"], row["value"]) == ("200k", pytest.approx(10))


def translations() -> pd.DataFrame:
    """Two layers and two weights; the test set likes layer 1, the development set layer 2."""
    found = []
    for protocol in PROTOCOLS:
        for part, favourite in ((0, 1), (1, 2)):
            for layer in (1, 2):
                for weight in (1.0, 2.0):
                    bleu = 10 * weight + (5 if layer == favourite else 0)
                    found.append(
                        {
                            **{"protocol": protocol, "part": part, "layer": layer},
                            **{"weight": weight, "mean_bleu": bleu, "corpus_bleu": bleu + 1},
                            **{"converted": 3 * weight, "counted": 10, "n": 7},
                            "samples": [f"{protocol} {layer} {weight:g}"] if part == 0 else [],
                        }
                    )
    return pd.DataFrame(found)


def test_the_best_is_chosen_by_protocol() -> None:
    settings: Any = {"layers": [1, 2], "best_of": [1.0, 2.0], "score_layer": 2, "rate_layer": 1}
    rows = measure_translation({("en", "de"): translations()}, PROTOCOLS, **settings)
    found = {
        (row["protocol"], row["condition"], row["layers"], row["metric"]): row["value"]
        for row in rows
    }
    for protocol, plus, layer in (("published", 0, 1), ("corrected", 1, 2)):
        own = {key[1:]: value for key, value in found.items() if key[0] == protocol}
        best = 20 + plus + (5 if layer == 1 else 0)  # of the test set, in which layer 1 has 5 more
        assert own == pytest.approx(
            {
                ("alpha=2", "2", "bleu1"): 20 + plus,
                ("best", "", "bleu1"): best,
                ("best", "", "best_layer"): layer,
                ("best", "", "best_alpha"): 2,
                ("alpha=1", "1", "convert_rate"): 0.3,
                ("alpha=2", "1", "convert_rate"): 0.6,
            }
        )


def test_what_figures_draw() -> None:
    rows = by_weight(translations(), PROTOCOLS, ["bleu1"], source="en", target="el")
    frame = pd.DataFrame(list(rows))
    drawn = shown(frame, "figure8", "published")
    assert set(drawn["panel"]) == {"by alpha", "by layer"}
    by_layer = drawn[(drawn["panel"] == "by layer") & (drawn["line"] == "alpha = 2")]
    assert by_layer["value"].tolist() == [25, 20]
    by_alpha = drawn[(drawn["panel"] == "by alpha") & (drawn["line"] == "layer 1")]
    assert by_alpha["value"].tolist() == [15, 25]


def test_weights_are_chosen_on_development_sets() -> None:
    right = {  # by dataset and language, of ten examples, with the weights 0, 1 and 2
        ("xnli", "en"): [9, 9, 9],
        ("xnli", "de"): [5, 6, 4],
        ("xnli", "fr"): [7, 3, 2],
        ("dev", "en"): [8, 8, 8],
        ("dev", "de"): [4, 6, 7],
        ("dev", "fr"): [6, 7, 3],
    }
    table = pd.DataFrame(
        [
            {"dataset": dataset, "language": language, "protocol": protocol}
            | {"weight": float(weight), "right": count, "n": 10}
            for protocol in PROTOCOLS
            for (dataset, language), counts in right.items()
            for weight, count in enumerate(counts)
        ]
    )
    names = {"test": "xnli", "development": "dev", "chosen_in": "de"}
    tables = [("upper", 1, protocol, table) for protocol in PROTOCOLS]
    found = {
        (row["protocol"], row["condition"], row["target"], row["metric"]): row["value"]
        for row in measure_shifted(tables, **names)
    }
    assert found["published", "upper", "fr", "accuracy"] == 70
    assert found["published", "upper+mds", "de", "accuracy"] == 40
    assert found["published", "upper+mds", "fr", "accuracy"] == 30
    assert found["published", "upper+mds", "fr", "shift_weight_alpha"] == 1
    assert found["corrected", "upper+mds", "fr", "accuracy"] == 20
    assert found["corrected", "upper+mds", "fr", "shift_weight_alpha"] == 2
    assert ("published", "upper+mds", "en", "accuracy") not in found


def sentences() -> TokenStore:
    rows = [[2, 5, 6, 3], [2, 7, 3], [2, 6, 8, 3], [2, 9, 3]]
    arrays: Any = {"input_ids": Ragged.from_rows(rows, np.int32), "part": np.array([0, 0])}
    return TokenStore(arrays, {"languages": ["en", "de"]})


def test_token_sets() -> None:
    found = {
        (row["target"], row["metric"]): row["value"]
        for row in count_token_sets(sentences(), ["published"])
    }
    assert found == {
        ("en", "n_tokens_in_language"): 3,
        ("en", "n_tokens_shared_with_english"): 3,
        ("de", "n_tokens_in_language"): 3,
        ("de", "n_tokens_shared_with_english"): 1,
    }


def test_samples_are_laid_out() -> None:
    class Words:
        def decode(self, ids: list[int]) -> str:
            return " ".join(map(str, ids))

    found = samples(
        sentences(), Words(), {"de": translations()}, shown={"de": [1]}, layer=2, weights=[1.0, 2.0]
    )
    assert [(row["what"], row["text"]) for row in found] == [
        ("input", "2 7 3"),
        ("translation", "2 9 3"),
        ("alpha = 1", "published 2 1"),
        ("alpha = 2", "published 2 2"),
    ]


def test_every_reported_number_has_a_measurement() -> None:
    """Of the paper's config: what the measures give of made-up scores, against what is reported."""
    paper = config().liu2020
    shift = paper.translation
    both = [pair for code in shift.languages for pair in (("en", code), (code, "en"))]
    grid = pd.DataFrame(
        [
            {"protocol": "published", "part": part, "layer": layer, "weight": weight}
            | {"mean_bleu": 1.0, "converted": 1, "counted": 2, "n": 3}
            for part in (0, 1)
            for layer in range(1, paper.layers + 1)
            for weight in shift.weights
        ]
    )
    rows = [
        row | {"artifact": "table2", "task": "token_translation"}
        for row in measure_translation(
            dict.fromkeys(both, grid),
            ["published"],
            layers=range(1, paper.layers + 1),
            best_of=shift.best_of,
            score_layer=shift.score_layer,
            rate_layer=shift.rate_layer,
        )
    ]
    codes = ["en", *shift.languages]
    ids = Ragged.from_rows([[2, 5, 3]] * len(codes), np.int32)
    store = TokenStore({"input_ids": ids, "part": np.zeros(1)}, {"languages": codes})
    rows += [
        row | {"artifact": "table3", "task": "token_set"}
        for row in count_token_sets(store, ["published"])
    ]
    shifted = pd.DataFrame(
        [
            {"dataset": dataset, "language": code, "protocol": "published"}
            | {"weight": weight, "right": 1, "n": 2}
            for dataset in ("xnli", "dev")
            for code in paper.transfer.languages
            for weight in paper.transfer.weights
        ]
    )
    tables = [("finetune_last_6_layers", 1, "published", shifted)]
    found = list(measure_shifted(tables, test="xnli", development="dev", chosen_in="de"))
    found += [
        row | {"condition": "finetune_all_layers"}
        for row in found
        if row["condition"] == "finetune_last_6_layers"
    ]
    rows += with_means(found, "avg_without_en", artifact="table4", task="xnli")
    keys = ["artifact", "task", "condition", "source", "target", "layers", "metric"]
    planned = {tuple(str(row.get(key, "")) for key in keys) for row in rows}
    reported = pd.read_csv(
        ROOT / "resources/reported/liu2020.csv", dtype=str, keep_default_na=False
    )
    assert set(reported[keys].itertuples(index=False, name=None)) - planned == set()

"""Rows of the tables and figures, from scores by hand."""

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from configs import ROOT, config
from planned_files import PlannedFiles

from mbert_atlas.arrays import Ragged, TokenStore, save_arrays
from mbert_atlas.cells import Cell
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.files import write_parquet
from mbert_atlas.languages import Languages
from mbert_atlas.papers.liu2020 import measures
from mbert_atlas.papers.liu2020.figures import convert_rates, curves, from_english
from mbert_atlas.papers.liu2020.measures import (
    count_token_sets,
    measure_accuracy_drop,
    measure_by_depth,
    measure_by_weight,
    measure_head,
    measure_retrieval,
    measure_shifted,
    measure_translation,
    samples,
)
from mbert_atlas.plan.plan import Plan
from mbert_atlas.schemas import DICTIONARY
from mbert_atlas.scorecard.cells import KEY, Key, Measured, measured_cells, read_cells
from mbert_atlas.scorecard.claims import cells_of, read_claims
from mbert_atlas.scorecard.estimates import Evidence

Row = dict[str, Any]
SETTINGS: Any = {"layers": 2, "best_of": [1.0, 2.0], "score_layer": 2, "rate_layer": 1}


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """The plan of the paper's own config."""
    monkeypatch.chdir(ROOT)
    return Plan(config(papers=["liu2020"]), Languages.read(ROOT / "resources/languages.csv"))


def by(rows: Iterable[Row], *keys: str) -> dict[Any, Any]:
    """Values of rows by some of their columns."""
    return {tuple(row[key] for key in keys): row["value"] for row in rows}


def assert_resampled(rows: Iterable[Row], *without: str) -> None:
    """Made-up resamples equal the test set: so do all numbers but those of some metrics."""
    for row in rows:
        if row["metric"] in without:
            assert row.get("resampled") is None
        else:
            assert row["resampled"].tolist() == pytest.approx([row["value"]] * 2)


def parquet(folder: Path, frame: pd.DataFrame) -> str:
    frame.to_parquet(folder / "table.parquet")
    return str(folder / "table.parquet")


def test_the_head_is_measured_by_language(tmp_path: Path) -> None:
    by_language = {"de": ([7, 7, 8, 9], [8, 7, 8, 9]), "en": ([4, 4, 5], [4, 4, 4])}
    frame = pd.concat(
        pd.DataFrame({"language": code, "row": 20, "gold": gold, "prediction": prediction})
        for code, (gold, prediction) in by_language.items()
    )
    rows = list(measure_head([Cell(condition="head", path=parquet(tmp_path, frame))]))
    assert by(rows, "target", "metric") == pytest.approx(
        {
            ("de", "masked_accuracy"): 75,
            ("de", "most_frequent_accuracy"): 50,
            ("en", "masked_accuracy"): 200 / 3,
            ("en", "most_frequent_accuracy"): 200 / 3,
        }
    )
    assert {(row["target"], row["n"]) for row in rows} == {("de", 4), ("en", 3)}
    for row in rows:  # one row of texts is all that there is to draw
        assert row["resampled"] == pytest.approx(np.full(400, row["value"]), rel=1e-5)


def test_retrieval_is_of_the_last_layer(tmp_path: Path) -> None:
    rows = [
        {"layer": layer, "source": source, "mrr": mrr + centred, "n": 10, "centred": centred}
        | {"resampled": [mrr + centred] * 2}
        for layer, source, mrr in [(0, "en", 0.1), (0, "de", 0.2), (1, "en", 0.3), (1, "de", 0.5)]
        for centred in (False, True)
    ]
    words = pa.table([["a", "a", "b"], ["x", "y", "z"]], schema=DICTIONARY)
    write_parquet(words, tmp_path / "d.parquet")
    paths = {"ranks": parquet(tmp_path, pd.DataFrame(rows)), "dictionary": f"{tmp_path}/d.parquet"}
    found = list(measure_retrieval([Cell(condition="bert", seed=1, language="de", paths=paths)]))
    chance = [row for row in found if row["metric"] == "mrr_by_chance"]
    # x, y, z among a and b: 1 or 1/2, each half the time; a has two of three translations.
    from_german, from_english = 3 / 4, (5 / 6 + (1 + 1 / 2 + 1 / 3) / 3) / 2
    both = {"published": from_german, "corrected": (from_german + from_english) / 2}
    assert by(chance, "protocol", "target") == pytest.approx(
        {(name, code): 100 * both[name] for name in both for code in ("de", "avg")}
    )
    found = [row for row in found if row["metric"] == "mrr"]
    assert_resampled(found)
    for target in ("de", "avg"):
        own = [row for row in found if row["target"] == target]
        assert by(own, "protocol", "layers") == pytest.approx(
            {
                ("published", ""): 50,
                ("published", "0"): 20,
                ("published", "1"): 50,
                ("corrected", ""): 40,
                ("corrected", "0"): 15,
                ("corrected", "1"): 40,
            }
        )


def test_the_drop_is_relative(monkeypatch: pytest.MonkeyPatch) -> None:
    accuracy = {"512": 60.0, "20": 54.0}
    again = {"512": np.array([60, 50, 0]), "20": np.array([54, 60, 0])}

    def scores(cell: Cell) -> Any:
        window = cell.facts["window"]
        return {"accuracy": {"value": accuracy[window], "resampled": again[window], "n": 5}}

    monkeypatch.setattr(measures, "scores_of", scores)
    cells = [
        Cell(condition=size, language="de", protocol="published", seed=1, facts={"window": window})
        for size, window in [("200k", "512"), ("200k", "20"), ("1000k", "20")]
    ]
    drops = list(measure_accuracy_drop(cells))
    found = by(drops, "condition", "target", "metric")
    assert [row["resampled"].tolist() for row in drops] == [pytest.approx([10, -20, 100])] * 2
    metric = "accuracy_drop_percent"
    assert found == pytest.approx({("200k", "de", metric): 10, ("200k", "avg", metric): 10})


def translations() -> pd.DataFrame:
    """Two layers and two weights; the test set likes layer 1, the development set layer 2."""
    table = pd.DataFrame(
        {"protocol": protocol, "part": part, "layer": layer, "weight": weight, "seed": np.nan}
        | {"mean_bleu": bleu, "corpus_bleu": bleu + 1, "converted": 3 * weight, "counted": 10}
        | {"n": 7, "tokens": 20, "in_source": 19, "in_neither": layer, "translated": weight}
        | {"samples": [f"{protocol} {layer} {weight:g}"] if part == 0 else []}
        for protocol in PROTOCOLS
        for part, favourite in ((0, 1), (1, 2))
        for layer in (1, 2)
        for weight in (1.0, 2.0)
        for bleu in [10 * weight + (5 if layer == favourite else 0)]
    )
    numbers = table.columns[5:-1].drop("n")
    again = {f"resampled_{name}": [[value] * 2 for value in table[name]] for name in numbers}
    return table.assign(**again)


def test_the_best_is_chosen_by_protocol(tmp_path: Path) -> None:
    cell = Cell(source="en", language="de", path=parquet(tmp_path, translations()))
    rows = list(measure_translation([cell], **SETTINGS))
    for protocol, plus, layer in (("published", 0, 1), ("corrected", 1, 2)):
        own = [row for row in rows if row["protocol"] == protocol]
        best = 20 + plus + (5 if layer == 1 else 0)  # of the test set, in which layer 1 has 5 more
        assert by(own, "condition", "layers", "metric") == pytest.approx(
            {
                ("alpha=2", "2", "bleu1"): 20 + plus,
                ("best", "", "bleu1"): best,
                ("best", "", "best_layer"): layer,
                ("best", "", "best_alpha"): 2,
                ("alpha=1", "1", "convert_rate"): 0.3,
                ("alpha=2", "1", "convert_rate"): 0.6,
                ("alpha=1", "1", "translated_rate"): 1 / 3,
                ("alpha=2", "1", "translated_rate"): 1 / 3,
                ("alpha=1", "1", "third_language_rate"): 0.05,
                ("alpha=2", "1", "third_language_rate"): 0.05,
            }
        )


def test_tokens_of_the_source_language_are_counted_with_negative_weights(tmp_path: Path) -> None:
    table = translations()
    negative = table[table["weight"] == 1].assign(weight=-1.0)
    path = parquet(tmp_path, pd.concat([table, negative]))
    rows = list(measure_translation([Cell(source="en", language="de", path=path)], **SETTINGS))
    assert_resampled(rows, "best_layer", "best_alpha")
    found = by(
        [row for row in rows if row["metric"] == "source_rate"], "condition", "layers", "protocol"
    )
    assert found == {("alpha=-1", "1", protocol): 0.95 for protocol in PROTOCOLS}


def test_rates_count_tokens_and_a_perfect_rate_is_known_to_that_many(tmp_path: Path) -> None:
    """20 sentences of 20 tokens, none of a third language: at most 5% of the tokens are."""
    table = translations().assign(n=20, tokens=400, in_neither=0, converted=0, translated=0)
    table["resampled_in_neither"] = [[0.0] * 2] * len(table)
    cell = Cell(source="en", language="de", path=parquet(tmp_path, table))
    rows = {
        row["metric"]: row
        for row in measure_translation([cell], **SETTINGS)
        if (row["condition"], row["protocol"]) == ("alpha=1", "corrected")
    }
    assert "translated_rate" not in rows  # of no converted token
    assert {name: row["n"] for name, row in rows.items()} == {
        "convert_rate": 10,
        "third_language_rate": 400,
    }
    row = rows["third_language_rate"]
    key = tuple(str(row.get(name, "")) for name in KEY)
    evidence = Evidence({key: Measured({None: 0.0}, row["n"], {None: [0.0] * 400})}, [])
    # By hand: 2 of 404 tokens, error of one token of 400, t of 399 degrees of freedom.
    share, quantile = 2 / 404, 1.9659
    end = np.log(share / (1 - share)) + quantile / 400 / (share * (1 - share))
    interval = evidence.estimate({key: 1.0}).interval(0.05)
    assert interval == pytest.approx((0, 1 / (1 + np.exp(-end))), abs=1e-5)
    assert interval[1] < 0.02


def test_shifts_by_random_vectors_are_conditions_of_their_own(tmp_path: Path) -> None:
    table = translations()
    control = [table.assign(seed=float(seed), converted=seed) for seed in (1, 2)]
    cell = Cell(source="en", language="de", path=parquet(tmp_path, pd.concat([table, *control])))
    rows = list(measure_translation([cell], **SETTINGS))
    without = Cell(source="en", language="de", path=parquet(tmp_path, table))
    assert len(rows) - len(list(measure_translation([without], **SETTINGS))) == 2 * 2 * 2 * 2
    found = by([row for row in rows if "seed" in row], "condition", "seed", "metric", "protocol")
    for seed, protocol in product((1, 2), PROTOCOLS):
        for weight in (1, 2):
            place = (f"alpha={weight}+random_shift", seed)
            assert found[*place, "convert_rate", protocol] == pytest.approx(seed / 10)
            assert found[*place, "translated_rate", protocol] == pytest.approx(weight / seed)


def test_bleu_by_depth_is_a_mean_over_layers(tmp_path: Path) -> None:
    layers = pd.DataFrame({"layer": range(5), "mean_bleu": [90.0, 1, 2, 6, 70]})
    table = (
        translations()
        .drop(columns=["layer", "mean_bleu"])
        .drop_duplicates(["protocol", "part", "weight"])
        .merge(layers, how="cross")
    )
    cell = Cell(source="en", language="de", path=parquet(tmp_path, table))
    rows = list(measure_by_depth([cell], best_of=[2.0], first=2, last=3))
    published = [row for row in rows if row["protocol"] == "published"]
    assert by(published, "condition", "layers", "metric") == {
        ("alpha=2", "last", "bleu1"): 4,
        ("alpha=2", "earlier", "bleu1"): 1,
    }


def test_lines_of_figures(tmp_path: Path) -> None:
    cell = Cell(source="en", language="el", path=parquet(tmp_path, translations()))
    frame = pd.DataFrame(list(measure_by_weight([cell], metric="bleu1"))).assign(seed=None)
    lines = curves(frame[frame["protocol"] == "published"], by_layer=True)
    assert set(lines["panel"]) == {"by alpha", "by layer"}
    by_layer = lines[(lines["panel"] == "by layer") & (lines["line"] == "alpha = 2")]
    assert by_layer["value"].tolist() == [25, 20]
    by_alpha = lines[(lines["panel"] == "by alpha") & (lines["line"] == "layer 1")]
    assert by_alpha["value"].tolist() == [15, 25]


def test_weights_are_chosen_on_development_sets(tmp_path: Path) -> None:
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
            {"dataset": dataset, "language": language, "shift": "means"}
            | {"weight": float(weight), "right": count, "n": 10, "resampled": [10.0 * count] * 2}
            for (dataset, language), counts in right.items()
            for weight, count in enumerate(counts)
        ]
    )
    worse = table.assign(shift="random", right=table["right"] - table["weight"])
    worse["resampled"] = [[10.0 * count] * 2 for count in worse["right"]]
    paths = {"shifted": parquet(tmp_path, pd.concat([table, worse]))}
    cells = [
        Cell(condition="upper", seed=1, protocol=protocol, paths=paths) for protocol in PROTOCOLS
    ]
    rows = list(measure_shifted(cells, test="xnli", development="dev", chosen_in="de"))
    assert_resampled(rows, "shift_weight_alpha")
    found = by(rows, "protocol", "condition", "target", "metric")
    assert found["published", "upper", "fr", "accuracy"] == 70
    assert found["published", "upper+mds", "de", "accuracy"] == 40
    assert found["published", "upper+mds", "fr", "accuracy"] == 30
    assert found["published", "upper+mds", "avg_without_en", "accuracy"] == 35
    assert found["published", "upper+mds", "fr", "shift_weight_alpha"] == 1
    assert found["corrected", "upper+mds", "fr", "accuracy"] == 20
    assert found["corrected", "upper+mds", "fr", "shift_weight_alpha"] == 2
    assert ("published", "upper+mds", "en", "accuracy") not in found
    # Its weights are chosen by its scores: 4, 5 and 5 of German, the first of equals.
    assert found["published", "upper+random_shift", "de", "shift_weight_alpha"] == 1
    assert found["published", "upper+random_shift", "de", "accuracy"] == 50
    assert found["corrected", "upper+random_shift", "fr", "accuracy"] == 70


def sentences() -> TokenStore:
    """Two test sentences and one of the development set, of English and of German."""
    rows = [[2, 5, 6, 3], [2, 7, 3], [2, 4, 3], [2, 6, 8, 3], [2, 9, 3], [2, 5, 7, 3]]
    arrays: Any = {"input_ids": Ragged.from_rows(rows, np.int32), "part": np.array([0, 0, 1])}
    return TokenStore(arrays, {"languages": ["en", "de"]})


def test_token_sets(tmp_path: Path) -> None:
    store = sentences()
    save_arrays(tmp_path / "parallel", store.arrays, store.meta)
    rows = list(count_token_sets([Cell(path=str(tmp_path / "parallel"))]))
    assert {row["n"] for row in rows} == {2}
    assert by(rows, "target", "metric") == {
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


def _has(key: Key, cells: Any) -> bool:
    return all(key[KEY.index(column)] in names for column, names in cells.items())


def test_every_reported_number_and_claim_has_a_measurement(plan: Plan, tmp_path: Path) -> None:
    """Names of all cells that the paper's config measures, with made-up files for every run."""
    planned = PlannedFiles(plan, tmp_path)
    published, corrected = measured_cells(map(planned.measurement, plan.measurements)).values()
    assert published.keys() == corrected.keys()
    keys = set(published)
    reported = ROOT / "resources/reported/liu2020.csv"
    assert {line.key for line in read_cells([reported])} - keys == set()
    path = ROOT / "mbert_atlas/papers/liu2020/claims.yaml"
    stated = read_claims(path, "liu2020", reported)
    claims = stated.claims
    for gate in stated.gates.values():
        terms = [cells for _, cells in gate.effect.terms(gate.of)]
        assert all(any(_has(key, cells) for key in keys) for cells in terms), gate.otherwise
    # MUSE has 12 languages, XNLI 14 others than English; Table 2 has 12 directions, 6 from English.
    assert {name: len(cells_of(claim, "liu2020", keys)) for name, claim in claims.items()} == {
        "small-data-bert-is-behind": 2 * 12,
        "big-data-bert-is-ahead": 2 * 12,
        "more-data-helps-bert": 1,
        "more-data-helps-static-vectors-less": 2,
        "more-data-helps-transfer": 1,
        "more-data-helps-transfer-of-static-vectors-less": 2,
        "released-encoder-is-best": 1,
        "big-data-bert-transfers-better": 2 * 14,
        "small-data-bert-transfers-no-better": 2,
        "small-data-margins-are-small": 2 * 14,
        "short-window-hurts": 1,
        "short-window-hurts-small-data-less": 1,
        "short-window-helps-small-data": 12,
        "short-window-makes-data-matter-less": 1,
        "short-window-costs-transfer": 1,
        "short-window-helps-transfer-from-small-data": 14,
        "more-weight-converts-more": 2 * 12,
        "most-tokens-are-converted": 12,
        "converted-tokens-are-translations": 3 * 6,
        "no-third-language": 3 * 12,
        "negative-weight-converts-nothing": 12,
        "more-weight-does-not-always-translate-better": 12,
        "more-weight-translates-better-at-last-layers": 12,
        "last-layers-translate-best": 12,
        "upper-layers-suffice": 1,
        "shift-helps-transfer": 1,
        "shift-helps-most-languages": 11,
        "french-and-spanish-gain-nothing": 2,
        "random-shift-helps-transfer": 1,
        "random-shift-helps-most-languages": 11,
        "random-shift-converts-most-tokens": 12,
        "random-shift-translates": 3 * 6,
    }


@pytest.mark.parametrize(
    ("layers", "drawn"),
    [
        (12, {1: "first layer", 6: "middle layer", 12: "last layer"}),
        (4, {1: "first layer", 2: "middle layer", 4: "last layer"}),
        (2, {1: "first layer", 2: "last layer"}),
    ],
)
def test_encoders_of_any_depth_have_the_same_lines(layers: int, drawn: dict[int, str]) -> None:
    rows = [
        {"layers": str(layer), "condition": f"alpha={alpha}", "value": layer / 100, "seed": np.nan}
        for layer in range(1, layers + 1)
        for alpha in (2, -1)
    ]
    points = convert_rates(pd.DataFrame(rows))
    assert points["along"].tolist() == [-1.0] * len(drawn) + [2.0] * len(drawn)
    found = points.groupby("line")["value"].first().round(6).to_dict()
    assert found == {line: float(layer) for layer, line in drawn.items()}


def test_translations_are_those_from_english_in_percent() -> None:
    rows = [
        {"source": source, "target": "ru", "condition": "best", "metric": metric, "value": value}
        for source in ("en", "hi")
        for metric, value in (("bleu1", 40.0), ("convert_rate", 0.25), ("best_layer", 3.0))
    ]
    frame = pd.DataFrame(rows)
    points = from_english(frame.assign(reported=frame["value"] / 2))
    assert points[["panel", "line", "along", "value", "reported"]].values.tolist() == [
        ["bleu1", "best", "ru", 40.0, 20.0],
        ["convert_rate", "best", "ru", 25.0, 12.5],
    ]

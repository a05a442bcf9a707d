"""The choice among the draws of a search."""

import json

import pytest
from toy_tables import class_predictions

from mbert_atlas.analysis.scores import choose_hyperparameters
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_parquet


def test_the_best_draw_is_chosen_on_all_languages_or_on_english(tmp_path):
    draws = [{"batch_size": 16}, {"batch_size": 32}, {"batch_size": 64}]
    labels = ("neutral", "entailment")
    right = {1: {"en": 2, "hi": 0}, 2: {"en": 0, "hi": 4}, 3: {"en": 2, "hi": 0}}
    paths = []
    for number, hits in right.items():
        rows = [
            ("xnli-dev", code, f"{code}{n}", labels[n % 2], labels[(n + (n >= hits[code])) % 2])
            for code, count in (("en", 2), ("hi", 4))
            for n in range(count)
        ]
        paths.append(tmp_path / f"{number}.parquet")
        write_parquet(class_predictions(rows), paths[-1])
    for protocol, metric, languages, best in (
        ("published", "macro_f1_union", None, 2),
        ("corrected", "macro_f1_present", ["en"], 1),
    ):
        output = tmp_path / f"{protocol}.json"
        options = {"metric": metric, "languages": languages, "protocol": protocol, "unit": "text"}
        choose_hyperparameters(draws, paths, output=output, **options)
        choice = json.loads(output.read_text())
        assert choice["draw"] == best  # ties go to the first
        assert choice["values"] == draws[best - 1]
        assert [item["values"] for item in choice["draws"]] == draws
    hindi = class_predictions([("xnli-dev", "hi", "1", "neutral", "neutral")])
    write_parquet(hindi, tmp_path / "hindi")
    with pytest.raises(DataError, match="language en: there is no macro_f1_present of predictions"):
        choose_hyperparameters(draws[:1], [tmp_path / "hindi"], output=output, **options)

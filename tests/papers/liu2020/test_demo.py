"""Results of the paper in the demo, whose dictionary is known."""

import json

import pytest

from clone import measured

pytestmark = pytest.mark.workflow
LANGUAGES = {"ru", "hi", "bg"}


def numbers(demo, artifact):
    return measured(demo, f"liu2020/{artifact}").astype({"value": float})


def test_words_find_their_translations(demo):
    frame = numbers(demo, "figure3")
    means = frame[(frame.target == "avg") & (frame.layers == "")]
    means = means.groupby("condition")["value"].mean()
    assert means["google_bert"] > 50, means
    assert set(means.index) == {"glove", "word2vec", "bert", "google_bert"}
    frame = numbers(demo, "figure5")
    conditions = {f"bert_{window}_{size}" for window in (512, 20) for size in ("200k", "1000k")}
    assert set(frame.condition) == conditions


def test_a_shift_changes_the_language(highlights):
    frame = numbers(highlights, "table2")
    rates = frame[frame.metric == "convert_rate"]
    assert set(zip(rates.source, rates.target, strict=True)) == {
        pair for code in LANGUAGES for pair in (("en", code), (code, "en"))
    }
    means = rates.groupby("condition")["value"].mean()
    assert means["alpha=3"] > means["alpha=1"] + 0.1, means
    others = frame.groupby(["metric", "condition"])["value"].mean()
    assert others["source_rate", "alpha=-1"] > 0.9, others
    assert others["translated_rate", "alpha=1"] > 0.5, others
    assert others["third_language_rate", "alpha=1"] < 0.1, others
    shown = json.loads((highlights / "results/demo/samples/liu2020/table1.json").read_text())
    assert [row["what"] for row in shown[:3]] == ["input", "translation", "alpha = 1"]


def test_without_a_shift_no_layer_matters(demo):
    still = numbers(demo, "figure7")
    still = still[still.condition == "alpha=0"]["value"]
    assert still.nunique() == 1
    assert still.iloc[0] < 0.1


def test_every_table_has_its_cells(demo):
    sets = numbers(demo, "table3")
    assert set(sets.metric) == {"n_tokens_in_language", "n_tokens_shared_with_english"}
    assert set(sets.target) == LANGUAGES | {"en"}
    frame = numbers(demo, "table4")
    rows = {
        f"{way}_{layers}"
        for way in ("finetune", "stripped")
        for layers in ("all_layers", "last_6_layers")
    }
    assert rows <= set(frame.condition)
    shifted = frame[frame.condition == "finetune_last_6_layers+mds"]
    assert set(shifted.metric) == {"accuracy", "shift_weight_alpha"}
    is_weight = shifted.metric == "shift_weight_alpha"
    assert shifted[is_weight & (shifted.protocol == "corrected")]["value"].nunique() == 1
    assert set(numbers(demo, "figure6b").condition) == {"200k", "1000k"}
    assert len(list((demo / "results/demo/figures/liu2020").glob("figure*.svg"))) == 7 + 4

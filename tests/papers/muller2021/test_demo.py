"""What the demo shows of the paper."""

import pandas as pd
import pytest

from clone import measured

pytestmark = pytest.mark.workflow


def numbers(demo, artifact):
    return measured(demo, f"muller2021/{artifact}").astype({"value": float})


def test_all_tasks_are_learnt_and_transfer(demo):
    frame = numbers(demo, "table1")
    reference = frame[frame.condition == "ref"].groupby(["task", "target"])["value"].mean()
    for task, english in (("parsing", 80), ("pos", 90), ("ner", 60)):
        assert reference[task, "en"] > english, reference
    assert reference["parsing", "mean_x"] > 40, reference


def test_without_any_trained_layer_transfer_is_lost(demo):
    frame = numbers(demo, "table5")
    score = frame[frame.target == "ru"].groupby(["task", "condition", "layers"])["value"].mean()
    for task in ("parsing", "pos"):
        assert score[task, "random_init", "all"] < score[task, "ref", ""] - 10, score


def check_layers(folder, artifact):
    frame = numbers(folder, artifact)
    assert set(frame.condition) == {"ref", "random_init_delta", "majority"}
    assert set(frame.protocol) == {"published", "corrected"}
    assert set(frame.layers) == {"", "1-2", "3-4", "all"}


def test_layers_are_reinitialised_in_pairs(highlights):
    check_layers(highlights, "table7")


def test_every_table_and_figure_has_its_cells(demo):
    for artifact in ("table2", "table6", "table8"):
        check_layers(demo, artifact)
    place = ["task", "source", "condition", "layers", "protocol", "seed"]
    one = numbers(demo, "table1").query("target == 'mean_x'").set_index(place)["value"]
    for artifact in ("table6", "table7", "table8"):
        lines = numbers(demo, f"{artifact}_means")
        assert set(lines.layers) == {"", "1-2", "3-4", "all"}
        values = lines.set_index(place)["value"]
        pd.testing.assert_series_equal(values, one[values.index])
    assert set(numbers(demo, "table1").layers) > {"first", "last", "lower", "upper"}
    assert set(numbers(demo, "table3").metric) >= {"learning_rate", "batch_size", "epochs_best"}
    table4 = numbers(demo, "table4")
    correlations = table4[table4.metric == "spearman_cross_lingual_gap_vs_similarity"]
    assert len(correlations) == 3 * 2 * 2 * 2  # tasks, seeds, conditions, protocols
    assert correlations["value"].between(-1, 1).all()
    cka = numbers(demo, "figure7").query("metric.str.startswith('cka_')")
    assert cka["value"].between(-20, 100).all()  # without bias a similarity of 0 may be below it
    figures = list((demo / "results/demo/figures/muller2021").glob("figure*.svg"))
    assert len(figures) == 8 * 2


def test_translations_are_more_similar_than_chance(highlights):
    frame = numbers(highlights, "figure5")
    cka = frame[(frame.metric == "cka_percent") & (frame.protocol == "corrected")]
    assert cka[cka.layers == "maximum"]["value"].min() > 20
    shuffled = frame[(frame.metric == "cka_shuffled_percent") & (frame.protocol == "corrected")]
    assert shuffled["value"].abs().mean() < 5

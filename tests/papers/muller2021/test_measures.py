"""What layers drawn anew cost, and what similarity has to do with transfer, on numbers by hand."""

import pandas as pd
import pyarrow as pa
import pytest

from mbert_atlas.analysis.transfer import Cell
from mbert_atlas.files import write_parquet
from mbert_atlas.papers.muller2021.figures import shown_by_layer
from mbert_atlas.papers.muller2021.measures import (
    CORRELATION,
    correlate_with_gap,
    gaps,
    mean_over_targets,
    measure_layers,
    measure_similarities,
    read_similarities,
)
from mbert_atlas.schemas import SIMILARITIES, TAG_PREDICTIONS


def tagged(path, right):
    """Predictions of ten words, of which so many are right."""
    rows = [
        {
            "dataset": "test",
            "language": "ru",
            "example_id": "s1",
            "gold": ["A"] * 10,
            "prediction": ["A"] * right + ["B"] * (10 - right),
            "words": list(range(10)),
        }
    ]
    write_parquet(pa.Table.from_pylist(rows, TAG_PREDICTIONS), path)
    return str(path)


def cell(path, seed):
    names = ("pos", "tagging", "test", "en", "ru", "russian", "published", seed, path)
    return Cell(*names)


@pytest.mark.parametrize(
    ("shown", "condition", "values"),
    [("difference", "random_init_delta", [-50, -20]), ("score", "random_init", [40, 60])],
)
def test_a_loss_is_the_difference_to_the_same_seed(tmp_path, shown, condition, values):
    cells = [
        (cell(tagged(tmp_path / f"{layers}{seed}", right), seed), layers)
        for layers, seed, right in [("ref", 1, 9), ("ref", 2, 8), ("1-2", 1, 4), ("1-2", 2, 6)]
    ]
    rows = list(measure_layers(cells, shown))
    assert [row["value"] for row in rows if row["condition"] == "ref"] == [90, 80]
    lost = [row for row in rows if row["condition"] == condition]
    assert [row["value"] for row in lost] == pytest.approx(values)
    assert {(row["layers"], row["target"], row["metric"], row["n"]) for row in lost} == {
        ("1-2", "russian", "accuracy", 10)
    }


def measured(rows):
    columns = ["target", "condition", "layers", "value", "seed"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.assign(
        task="pos", model="m", source="en", metric="accuracy", protocol="corrected", n=10
    )


LOSSES = {"1-2": -8.0, "3-4": -4.0, "5-6": 0.0, "7-8": 2.0}


def test_means_are_over_the_other_languages_and_by_depth():
    rows = [
        (target, "random_init_delta", layers, value * scale, 1)
        for target, scale in [("en", 0.5), ("ru", 1), ("hi", 3)]
        for layers, value in LOSSES.items()
    ]
    rows += [("en", "ref", "", 90.0, 1), ("ru", "ref", "", 70.0, 1), ("hi", "ref", "", 50.0, 1)]
    table = mean_over_targets([measured(rows)], list(LOSSES))
    value = table.set_index(["target", "condition", "layers"])["value"]
    assert value["mean_x", "ref", ""] == 60
    assert value["mean_x", "random_init_delta", "1-2"] == -16
    assert value["en", "random_init_delta", "1-2"] == -4
    depths = [value["mean_x", "random_init_delta", n] for n in ("first", "last", "lower", "upper")]
    assert depths == [-16, 4, -12, 2]
    assert not table.duplicated(["target", "condition", "layers", "seed"]).any()


def similar(path, values):
    """A file with the similarity of English and each language in layers 0, 1, ..."""
    rows = [
        {
            "protocol": "corrected",
            "source": "en",
            "target": target,
            "layer": layer,
            "measure": measure,
            "value": value,
            "low": value - 0.1,
            "high": value + 0.1,
            "n": 500,
        }
        for target, layers in values.items()
        for layer, value in enumerate(layers)
        for measure in ("cka_linear", "cka_rbf")
    ]
    write_parquet(pa.Table.from_pylist(rows, SIMILARITIES), path)
    return path


def test_similarities_are_percent_with_their_depths(tmp_path):
    path = similar(tmp_path / "one.parquet", {"ru": [0.2, 0.7, 0.4], "hi": [0.1, 0.1, 0.1]})
    place = {"task": "pos", "condition": "fine_tuned", "protocol": "corrected", "seed": 1}
    rows = pd.DataFrame(measure_similarities(read_similarities([place], [path]), ["ru"]))
    assert set(rows.target) == {"ru"}
    headline = rows[rows.metric == "cka_percent"].set_index("layers")["value"]
    assert headline.to_dict() == pytest.approx(
        {"0": 20, "1": 70, "2": 40, "bottom": 20, "top": 40, "maximum": 70}
    )
    assert len(rows[rows.metric == "cka_rbf_percent"]) == 3
    low = rows[rows.metric == "cka_percent_low"].set_index("layers")["value"]
    assert low.to_dict() == pytest.approx({"0": 10, "1": 60, "2": 30})
    other = place | {"protocol": "published"}  # of another run, where protocols differ
    assert read_similarities([other, place], [path, path]).protocol.unique() == ["corrected"]
    (most,) = rows[rows.metric == "cka_percent_maximum"].to_dict("records")
    assert (most["layers"], most["value"]) == ("1", pytest.approx(70))


def test_what_is_more_alike_transfers_better_in_the_printed_sign(tmp_path):
    languages = ["ru", "hi", "ar", "zh", "tr"]
    frame = measured([("en", "ref", "", 90.0, 1)])
    targets = measured([(code, "ref", "", 80.0 - 10 * n, 1) for n, code in enumerate(languages)])
    frame = pd.concat([frame, targets])
    assert gaps(frame, "en", "corrected") == {1: {"ru": 10, "hi": 20, "ar": 30, "zh": 40, "tr": 50}}
    assert gaps(frame, "en", "published") == {}
    # Layer 1 falls with the gap, layer 0 rises with it; their mean falls.
    values = {code: [0.3 + 0.01 * n, 0.9 - 0.1 * n] for n, code in enumerate(languages)}
    path = similar(tmp_path / "one.parquet", values)
    place = {"task": "pos", "condition": "pretrained", "protocol": "corrected", "seed": 1}
    similarities = read_similarities([place], [path])
    by_layer = pd.DataFrame(correlate_with_gap(similarities, {"pos": frame}, by_layer=True))
    found = by_layer.set_index(["metric", "layers"])["value"]
    assert found[CORRELATION, "0"] == pytest.approx(-1)
    assert found[CORRELATION, "1"] == pytest.approx(1)
    assert found["spearman_signed", "1"] == pytest.approx(-1)
    assert found["spearman_p_value", "1"] < 0.05
    (whole,) = (
        row
        for row in correlate_with_gap(similarities, {"pos": frame}, by_layer=False)
        if row["metric"] == CORRELATION
    )
    assert (whole["value"], whole["n"], whole["layers"]) == (pytest.approx(1), 5, "")
    drawn = shown_by_layer(by_layer, "figure3", "corrected")
    assert list(drawn.layers) == [0, 1]
    assert (drawn.low <= drawn.value + 1e-9).all()


def test_the_pretrained_encoder_is_one_line(tmp_path):
    path = similar(tmp_path / "one.parquet", {"ru": [0.2, 0.7]})
    cells = [
        {"task": task, "condition": condition, "protocol": "corrected", "seed": 1}
        for task in ("pos", "ner")
        for condition in ("pretrained", "fine_tuned")
    ]
    rows = measure_similarities(read_similarities(cells, [path] * 4), ["ru"])
    drawn = shown_by_layer(pd.DataFrame(rows), "figure1", "corrected")
    assert sorted(set(drawn.line)) == ["ner", "pos", "pretrained"]
    assert len(drawn) == 3 * 2

"""Figures by layer: their rows, panels and lines."""

from pathlib import Path

import numpy as np
import pandas as pd

from mbert_atlas.analysis.measurements import read_measurements, write_measurements
from mbert_atlas.cells import Cell
from mbert_atlas.papers.muller2021.figures import by_layer, changes_by_layers, draw_by_layer


def test_a_metric_has_numbered_layers_and_the_ends_of_its_intervals(tmp_path: Path) -> None:
    rows = [
        {"task": "pos", "target": target, "condition": "c", "seed": 1, "protocol": "corrected"}
        | {"layers": str(layer), "metric": metric, "value": value}
        for target in ("ru", "hi")
        for layer in range(3)
        for metric, value in (("cka", 0.5), ("cka_low", 0.4))
    ]
    other = [{**rows[0], "layers": ""}, {**rows[0], "metric": "f1", "layers": "1-2"}]
    write_measurements([*rows, *other], tmp_path / "m.csv")
    frame = read_measurements(tmp_path / "m.csv")
    chosen = by_layer(frame, "cka")
    assert chosen["layers"].tolist() == [0, 1, 2] * 2
    np.testing.assert_allclose(chosen["value"] - chosen["low"], 0.1)
    assert "high" not in chosen
    figure = draw_by_layer(
        [Cell(path=str(tmp_path / "m.csv"))],
        protocol="corrected",
        metric="cka",
        title="CKA",
        lines="condition",
        panels="target",
        names={"hi": "Hindi"},
        value_label="CKA (%)",
        order=["c"],
    )
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in shown] == ["ru", "Hindi"]
    assert [len(axes.lines) for axes in shown] == [1, 1]


def test_the_paper_s_largest_similarity_is_next_to_ours() -> None:
    rows = [
        ("pos", "", "cka_maximum", 0.0, 78.1),
        *(("pos", str(layer), "cka", value, np.nan) for layer, value in enumerate((9, 3, 5, 4))),
        *(("ner", str(layer), "cka", value, np.nan) for layer, value in enumerate((1, 2))),
    ]
    frame = pd.DataFrame(rows, columns=["task", "layers", "metric", "value", "reported"])
    frame = frame.assign(condition="fine_tuned", target="ru", is_comparable=True)
    points = by_layer(pd.concat([frame.assign(seed=seed) for seed in (1, 2)]), "cka")
    marked = points.dropna(subset="reported")
    assert marked[["task", "layers", "reported"]].values.tolist() == 2 * [["pos", 2, 78.1]]
    assert len(points) == 12


def test_changes_are_at_the_middle_of_their_layers() -> None:
    names = ("source", "target", "condition", "layers", "value")
    rows = [
        ("en", "en", "ref", "", 90.0),
        ("en", "mean_x", "random_init_delta", "11-12", -1.0),
        ("en", "mean_x", "random_init_delta", "1-2", -9.0),
        ("en", "en", "random_init_delta", "1-2", -2.0),
        ("en", "en", "random_init_delta", "first", -2.0),
        ("ru", "ru", "random_init_delta", "1-2", -3.0),
    ]
    points = changes_by_layers(pd.DataFrame(rows, columns=names).assign(task="pos", seed=1))
    drawn = points[["panel", "line", "along", "value"]].values.tolist()
    assert sorted(drawn) == [
        ["pos", "en", 1.5, -2.0],
        ["pos", "mean_x", 1.5, -9.0],
        ["pos", "mean_x", 11.5, -1.0],
    ]
    assert points["along"].is_monotonic_increasing


def test_the_pretrained_encoder_is_one_line_and_may_be_left_out(tmp_path: Path) -> None:
    rows = [
        {"task": task, "condition": condition, "protocol": "corrected", "target": "ru"}
        | {"layers": str(layer), "metric": "cka", "value": 1, "n": 9}
        | ({"seed": 1} if condition == "fine_tuned" else {})
        for condition in ("pretrained", "fine_tuned")
        for task in ("pos", "ner")
        for layer in range(2)
    ]
    write_measurements(rows, tmp_path / "m.csv")
    cells, options = [Cell(path=str(tmp_path / "m.csv"))], {"names": {}, "value_label": "CKA (%)"}
    options |= {"protocol": "corrected", "metric": "cka", "title": "CKA", "lines": "line"}
    lines = {
        names: [line.get_label() for line in figure.axes[0].lines]
        for names in (None, ("fine_tuned",))
        for figure in [draw_by_layer(cells, conditions=names, **options)]
    }
    assert lines == {None: ["pretrained", "POS", "NER"], ("fine_tuned",): ["POS", "NER"]}

"""Plots by layer show means, bands and panels as the measurements have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from mbert_atlas.analysis.measurements import read_measurements, write_measurements
from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.curves import layer_plot
from mbert_atlas.figures.style import save_figure
from mbert_atlas.papers.muller2021.figures import by_layer

LAYERS = range(5)


def measured(targets: int = 1, conditions: int = 2, seeds: int = 3) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"target": f"t{t}", "condition": f"c_{c}", "seed": s, "layers": layer, "metric": "cka"}
            | {"value": 0.1 * c + 0.01 * s + 0.05 * layer + 0.02 * t, "protocol": "corrected"}
            for t in range(targets)
            for c in range(conditions)
            for s in range(seeds)
            for layer in reversed(LAYERS)
        ]
    )


def plot(frame: pd.DataFrame, **options: object) -> Figure:
    return layer_plot(frame, title="Title", value_label="CKA", **options)  # type: ignore[arg-type]


def panels(figure: Figure) -> list:
    return [axes for axes in figure.axes if axes.get_visible()]


def test_lines_are_means_and_bands_reach_over_the_seeds() -> None:
    (axes,) = panels(plot(measured()))
    line = next(line for line in axes.lines if line.get_label() == "c 1")
    np.testing.assert_allclose(line.get_xdata(), LAYERS)
    np.testing.assert_allclose(line.get_ydata(), [0.11 + 0.05 * layer for layer in LAYERS])
    points = axes.collections[1].get_paths()[0].vertices
    at_last = points[np.isclose(points[:, 0], 4), 1]
    assert (at_last.min(), at_last.max()) == pytest.approx((0.3, 0.32))
    assert not panels(plot(measured(seeds=1)))[0].collections  # one seed has no band


def test_intervals_as_bands_and_as_bars() -> None:
    frame = measured(seeds=2).assign(low=lambda f: f["value"] - 0.3, high=lambda f: f["value"] + 1)
    (axes,) = panels(plot(frame))
    points = axes.collections[0].get_paths()[0].vertices
    at_first = points[np.isclose(points[:, 0], 0), 1]
    assert (at_first.min(), at_first.max()) == pytest.approx((-0.3, 1.01))
    assert any(np.allclose(line.get_ydata(), 0) for line in axes.lines)  # it crosses zero
    (axes,) = panels(plot(frame, bars=True))
    bars = [item for item in axes.collections if isinstance(item, LineCollection)]
    assert [len(item.get_segments()) for item in bars] == [5, 5]
    assert bars[0].get_segments()[0][0][0] < 0 < bars[1].get_segments()[0][0][0]


@pytest.mark.parametrize(("targets", "rows"), [(1, 1), (4, 2), (7, 3), (16, 4)])
def test_small_multiples(targets: int, rows: int, tmp_path: Path) -> None:
    names = {"t0": "Arabic"}
    figure = plot(measured(targets, 4), panels="target", names=names)
    shown = panels(figure)
    assert [axes.get_title(loc="left") for axes in shown] == [
        names.get(f"t{number}", f"t{number}") for number in range(targets)
    ]
    assert len({axes.get_subplotspec().rowspan.start for axes in shown}) == rows
    assert len({axes.get_ylim() for axes in shown}) == 1
    svg, png = save_figure(figure, tmp_path / "figure")
    assert svg.stat().st_size > 0 < png.stat().st_size
    below = [axes for axes in shown if axes.get_xlabel()]
    assert len(below) == min(targets, {1: 1, 2: 2, 3: 3, 4: 4}[rows])


def test_tables_that_cannot_be_drawn() -> None:
    frame = measured()
    for match, wrong in (
        ("no column seed", frame.drop(columns="seed")),
        ("not a finite number", frame.assign(value=np.nan)),
        ("has several values; choose one metric", pd.concat([frame, frame])),
        ("9 lines are too many", measured(conditions=9)),
    ):
        with pytest.raises(AtlasError, match=match):
            plot(wrong)


def test_reading_measurements(tmp_path: Path) -> None:
    rows = measured(seeds=1).to_dict("records")
    ends = [row | {"metric": "cka_low", "value": row["value"] - 0.1} for row in rows]
    other = [{**rows[0], "layers": ""}, {**rows[0], "protocol": "published"}]
    other.append({**rows[0], "metric": "f1", "layers": "1-2"})
    write_measurements([*rows, *ends, *other], tmp_path / "m.csv")
    frame = read_measurements(tmp_path / "m.csv")
    frame = frame[frame["protocol"] == "corrected"]
    found = by_layer(frame, "cka")
    assert len(found) == len(rows)
    np.testing.assert_allclose(found["value"] - found["low"], 0.1)
    assert "high" not in found
    assert panels(plot(found))
    with pytest.raises(AtlasError, match="no rho by layer"):
        by_layer(frame, "rho")

"""Curves show means, bands and panels as the measurements have them."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.curves import MANY_DASHES, curve_grid, curve_plot

ALONG = range(5)


def measured(panels: int = 1, lines: int = 2, seeds: int = 3) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"panel": f"p{p}", "line": f"c_{c}", "seed": s, "along": along}
            | {"value": 0.1 * c + 0.01 * s + 0.05 * along + 0.02 * p}
            for p in range(panels)
            for c in range(lines)
            for s in range(seeds)
            for along in reversed(ALONG)
        ]
    )


def plot(frame: pd.DataFrame, **options: object) -> Figure:
    return curve_plot(frame, title="", along_label="x", value_label="y", **options)  # type: ignore[arg-type]


def test_lines_are_means_and_bands_reach_over_the_seeds() -> None:
    (axes,) = plot(measured()).axes
    line = next(line for line in axes.lines if line.get_label() == "c 1")
    np.testing.assert_allclose(line.get_xdata(), ALONG)
    np.testing.assert_allclose(line.get_ydata(), [0.11 + 0.05 * along for along in ALONG])
    points = axes.collections[1].get_paths()[0].vertices
    at_last = points[np.isclose(points[:, 0], 4), 1]
    assert (at_last.min(), at_last.max()) == pytest.approx((0.3, 0.32))
    assert not plot(measured(seeds=1)).axes[0].collections  # one seed has no band


def test_long_labels_fit_below_the_panels() -> None:
    for name, columns in (("short", 3), ("multilingual-e5-small (paper: mBERT)", 2)):
        names = {f"c_{number}": f"{name} {number}" for number in range(4)}
        (legend,) = plot(measured(lines=4), names=names).legends
        assert legend._ncols == columns


def test_intervals_as_bands_and_as_bars() -> None:
    frame = measured(seeds=2).assign(low=lambda f: f["value"] - 0.3, high=lambda f: f["value"] + 1)
    (axes,) = plot(frame).axes
    points = axes.collections[0].get_paths()[0].vertices
    at_first = points[np.isclose(points[:, 0], 0), 1]
    assert (at_first.min(), at_first.max()) == pytest.approx((-0.3, 1.01))
    assert any(np.allclose(line.get_ydata(), 0) for line in axes.lines)  # it crosses zero
    (axes,) = plot(frame, bars=True).axes
    bars = [item for item in axes.collections if isinstance(item, LineCollection)]
    assert [len(item.get_segments()) for item in bars] == [5, 5]
    assert bars[0].get_segments()[0][0][0] < 0 < bars[1].get_segments()[0][0][0]
    (axes,) = plot(frame[frame["along"] == 1], bars=True).axes
    bars = [item for item in axes.collections if isinstance(item, LineCollection)]
    assert bars[0].get_segments()[0][0][0] < 1 < bars[1].get_segments()[0][0][0]


def test_a_seed_outside_the_interval_of_the_mean_does_not_widen_it() -> None:
    frame = measured(seeds=2).assign(low=-0.001, high=0.001)
    (axes,) = plot(frame).axes
    ends = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert frame["value"].abs().max() > 0.001
    assert (ends.min(), ends.max()) == pytest.approx((-0.001, 0.001))


@pytest.mark.parametrize(("panels", "columns", "rows"), [(1, 1, 1), (4, 2, 2), (7, 3, 3)])
def test_panels_fill_a_grid_with_common_axes(panels: int, columns: int, rows: int) -> None:
    figure = plot(measured(panels, 4), columns=columns, share=True)
    shown = [axes for axes in figure.axes if axes.get_visible()]
    titles = [axes.get_title(loc="left") for axes in shown]
    # The only panel of a figure has no heading: the figure's title states what it shows.
    assert titles == ([f"p{number}" for number in range(panels)] if panels > 1 else [""])
    assert len({axes.get_subplotspec().rowspan.start for axes in shown}) == rows
    assert len({axes.get_ylim() for axes in shown}) == 1
    assert len([axes for axes in shown if axes.get_xlabel()]) == min(panels, columns)


def test_a_legend_takes_the_place_of_a_missing_panel() -> None:
    figure = plot(measured(5, 3), columns=3, share=True, names={"c_0": "a name of " + 40 * "x "})
    figure.draw_without_rendering()
    box, free = figure.legends[0].get_window_extent(), figure.axes[5].get_window_extent()
    assert not any(box.overlaps(axes.get_tightbbox()) for axes in figure.axes[:5])
    assert free.x0 <= box.x0
    assert free.y0 <= box.y0 < box.y1 <= free.y1


def test_axes_of_panels_may_have_separate_labels() -> None:
    labels = {"p0": "accuracy (%)", "p1": "AMI (%)"}
    figure = curve_plot(measured(2), title="", along_label=labels, value_label=labels)
    assert [axes.get_ylabel() for axes in figure.axes] == [*labels.values()]
    assert [axes.get_xlabel() for axes in figure.axes] == [*labels.values()]


def test_bands_have_a_name_in_the_legend_and_the_caption() -> None:
    two = measured(seeds=2).assign(n=50)
    ends = two.assign(low=0, high=1)
    for frame, options, name in (
        (two, {}, "range of 2 seeds"),
        (ends, {"band": "a standard deviation"}, "a standard deviation"),
        (ends.assign(over="items"), {}, "95% interval over test items"),
        (measured(seeds=1).assign(n=50), {}, ""),
    ):
        figure = plot(frame, **options)
        shown = [text.get_text() for text in figure.legends[0].get_texts()]
        assert shown == ["c 0", "c 1", *filter(None, [name])]
        said = figure.get_label()
        assert said.startswith("n = 50 test items behind a number.")
        assert f"Bands: {name}" in said if name else "no interval can be given" in said


def test_curves_keep_the_style_of_a_line() -> None:
    def colours(*lines: str) -> dict[str, object]:
        frame = measured(lines=3)
        figure = plot(frame[frame["line"].isin(lines)], order=["c_0", "c_1", "c_2"])
        return {str(line.get_label()): line.get_color() for line in figure.axes[0].lines}

    assert colours("c_2", "c_1")["c 2"] == colours("c_2")["c 2"]
    assert colours("c_0", "c_1", "c_2")["c 2"] == colours("c_2")["c 2"]


def test_curves_have_separate_legends_if_panels_share_no_line() -> None:
    for line, legends in (("", 1), ("panel", 3)):  # then that of the bands is below
        frame = measured(panels=2)
        own = frame["line"] + (frame[line] if line else "")
        figure = plot(frame.assign(line=own))
        inside = [axes.get_legend() for axes in figure.axes]
        assert len(figure.legends) + sum(legend is not None for legend in inside) == legends


def test_tables_that_cannot_be_drawn() -> None:
    frame = measured()
    for match, wrong in (
        ("no rows", frame.iloc[:0]),
        ("has several values; choose one metric", pd.concat([frame, frame])),
        ("7 lines are too many", measured(lines=7)),
    ):
        with pytest.raises(AtlasError, match=match):
            plot(wrong)
    assert plot(measured(lines=8), dashes=MANY_DASHES)


def grid(frames: dict[str, pd.DataFrame]) -> Figure:
    return curve_grid(frames, along_label="x", value_label="y", names={"p1": "second"})


def test_runs_stand_side_by_side_with_common_vertical_axes() -> None:
    deep = measured(panels=2, lines=1).assign(along=lambda frame: 10 * frame["along"])
    figure = grid({"A": measured(panels=1), "B": deep})
    first, second, below, right = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["A", "B", "", ""]
    assert [axes.get_ylabel() for axes in figure.axes] == ["p0\ny", "", "second\ny", ""]
    assert first.get_ylim() == second.get_ylim() != right.get_ylim()
    assert second.get_xlim() == right.get_xlim() != first.get_xlim()
    lines = {str(line.get_label()): line for line in first.lines}
    np.testing.assert_allclose(lines["c 1"].get_ydata(), [0.11 + 0.05 * n for n in ALONG])
    assert [line for line in below.lines if len(np.asarray(line.get_xdata()))] == []
    assert second.lines[0].get_color() == first.lines[0].get_color()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["c 0", "c 1"]


def test_categories_are_the_same_in_all_runs() -> None:
    rows = [("ru", 1), ("hi", 2), ("hi", 4)], [("de", 3), ("ru", 4)]
    frames = [
        pd.DataFrame(
            [
                {"panel": "", "line": "c", "along": code, "value": value, "seed": seed}
                for seed, (code, value) in enumerate(some)
            ]
        )
        for some in rows
    ]
    figure = curve_grid(
        {"A": frames[0], "B": frames[1]}, along_label="", value_label="y", names={"ru": "Russian"}
    )
    first, second = figure.axes
    figure.draw_without_rendering()
    for axes in (first, second):
        assert [text.get_text() for text in axes.get_xticklabels()] == ["Russian", "hi", "de"]
    np.testing.assert_allclose(np.asarray(first.lines[0].get_xdata()), [1, 0])
    np.testing.assert_allclose(np.asarray(first.lines[0].get_ydata()), [3, 1])
    np.testing.assert_allclose(np.asarray(second.lines[0].get_xdata()), [2, 0])
    assert second.lines[0].get_linestyle() == "None"
    bars = [item for item in first.collections if isinstance(item, LineCollection)]
    assert [segment[:, 1].tolist() for segment in bars[0].get_segments()] == [[2, 4], [1, 1]]

"""Hollow markers of figures are what the papers report, where our numbers of the same cells are."""

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from configs import ROOT
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from planned_files import PlannedFiles, paper_preset

from mbert_atlas import papers
from mbert_atlas.analysis.measurements import read_measurements
from mbert_atlas.cells import as_values, files_of
from mbert_atlas.config.reading import read_yaml
from mbert_atlas.figures.curves import curve_grid, curve_plot
from mbert_atlas.figures.reported import (
    MARK,
    NOT_COMPARABLE,
    REPORTED,
    Reported,
    read_reported,
    reported_entry,
    reported_note,
    with_reported,
)
from mbert_atlas.plan.plan import READ_OFF
from mbert_atlas.plan.plan import REPORTED as FILE
from mbert_atlas.scorecard.intervals import draw

NAMES = ["paper", "artifact", "task", "model", "condition", "source", "target", "layers", "metric"]


def hollow(figure: Figure) -> Iterator[Line2D]:
    """Yield what panels show as reported."""
    for axes in figure.axes:
        for line in axes.lines:
            if line.get_label() == MARK:
                assert line.get_markerfacecolor() == "none"
                assert line.get_linestyle() == "None"
                yield line


def entries(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def numbers(*rows: tuple[str, str, str, float]) -> pd.DataFrame:
    """Return cells from artifact, condition, target and value."""
    frame = pd.DataFrame(rows, columns=["artifact", "condition", "target", "value"])
    return frame.reindex(columns=[*NAMES, "value"], fill_value="")


def test_the_cell_decides_and_then_what_all_other_artifacts_agree_on() -> None:
    printed = numbers(
        *(("table1", "a", "ru", 1.0), ("table2", "a", "ru", 2.0), ("table1", "b", "ru", 3.0)),
        *(("table2", "b", "ru", 3.0), ("table1", "c", "ru", 4.0), ("table2", "c", "ru", 5.0)),
    )
    ours = numbers(
        *(("table2", "a", "ru", 0.0), ("table3", "b", "ru", 0.0), ("table3", "c", "ru", 0.0)),
        ("table2", "a", "hi", 0.0),
    )
    ours = pd.concat([ours.assign(seed=seed) for seed in (1, 2)])
    joined = with_reported(ours, Reported(printed, True))
    np.testing.assert_array_equal(joined["reported"], 2 * [2.0, 3.0, np.nan, np.nan])
    assert joined["is_comparable"].all()
    assert joined[ours.columns].equals(ours)
    assert with_reported(ours, None) is ours
    assert reported_note(joined) == "Hollow markers: what the paper reports."
    assert "not judged" in reported_note(joined.assign(is_comparable=False))
    assert reported_note(joined[joined["target"] == "hi"]) == reported_note(ours) == ""


@pytest.mark.parametrize("is_comparable", [True, False])
def test_markers_are_on_the_line_in_its_look_and_lighter_if_not_comparable(
    is_comparable: bool,
) -> None:
    frame = pd.DataFrame(
        [
            {"panel": "p", "line": line, "along": along, "value": along, "seed": seed}
            | {"reported": along + 7 if (line, along) == ("b", 1) else np.nan}
            for line in "ab"
            for along in range(3)
            for seed in (1, 2)
        ]
    ).assign(is_comparable=is_comparable)
    text = REPORTED if is_comparable else NOT_COMPARABLE
    labels = {"along_label": "x", "value_label": "y"}
    plain = curve_plot(frame.drop(columns="reported"), title="", **labels)
    assert not [*hollow(plain)]
    assert text not in entries(plain)
    for figure in (
        curve_plot(frame, title="", **labels),
        curve_plot(frame, title="", bars=True, **labels),
        curve_grid({"run": frame}, names={}, **labels),
    ):
        marked = [line for line in hollow(figure) if np.isfinite(line.get_ydata()).any()]
        (line,) = marked
        (ours,) = [other for other in figure.axes[0].lines if other.get_label() == "b"]
        np.testing.assert_array_equal(line.get_xdata(), ours.get_xdata())
        np.testing.assert_array_equal(line.get_ydata(), [np.nan, 8, np.nan])
        assert (line.get_color(), line.get_marker()) == (ours.get_color(), ours.get_marker())
        assert (line.get_alpha() == 1) is is_comparable
        assert entries(figure).count(text) == 1
    mixed = {"one": frame, "other": frame.assign(is_comparable=not is_comparable)}
    shown = entries(curve_grid(mixed, names={}, **labels))
    assert {REPORTED, NOT_COMPARABLE} <= {*shown}


def test_what_was_read_off_a_figure_fills_gaps_and_names_its_error(tmp_path: Path) -> None:
    printed = numbers(("table1", "a", "ru", 1.0))
    curve = numbers(("figure1", "a", "ru", 1.2), ("figure1", "a", "de", 3.2)).assign(error=0.5)
    ours = numbers(
        ("figure1", "a", "ru", 0.0), ("figure1", "a", "de", 0.0), ("figure1", "a", "fi", 0.0)
    )
    joined = with_reported(ours, Reported(printed, True, curve))
    assert joined["reported"].tolist()[:2] == [1.0, 3.2]
    assert joined["reported"].isna().tolist() == [False, False, True]
    notes = [reported_note(joined[rows]) for rows in (slice(1), slice(1, 2), slice(3), slice(2, 3))]
    assert notes == [
        "Hollow markers: what the paper reports.",
        "Hollow markers: read off the paper's figure, ±0.5.",
        "Hollow markers: what the paper reports, or read off the paper's figure, ±0.5.",
        "",
    ]
    assert [*reported_entry(joined[1:2].assign(is_comparable=False))] == [
        "read off the paper's figure, ±0.5, not comparable"
    ]


CURVES = pytest.mark.parametrize(
    "file", sorted((ROOT / READ_OFF).parent.glob("*.csv")), ids=lambda file: file.stem
)


@CURVES
def test_files_of_curves_have_numbers_that_no_paper_prints(file: Path) -> None:
    printed, curves = (read_measurements(path) for path in (ROOT / FILE.format(file.stem), file))
    assert (curves["error"] > 0).all()
    assert not curves.duplicated(NAMES).any()
    assert len(curves.merge(printed, on=NAMES)) == 0


def expected(name: str, reported: pd.DataFrame) -> list[float]:
    """Return the numbers that a figure has to show under a protocol, sorted.

    ``tests/papers/<paper>/reported_figures.yaml`` has the query of the reported rows by figure.
    """
    paper, _, figure = name.partition("/")
    file = ROOT / f"tests/papers/{paper}/reported_figures.yaml"
    queries = read_yaml(file) if file.exists() else {}
    rows = reported[~reported["metric"].str.contains("_significant_vs_")]
    for pattern, query in queries.items():
        if fnmatch(figure, pattern):
            rows = rows.query(query.format(figure=figure))
            is_rate = rows["metric"].str.endswith("_rate")  # drawn in percent
            return sorted(rows["value"].where(~is_rate, 100 * rows["value"]))
    return []


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> PlannedFiles:
    return paper_preset(tmp_path_factory)


@pytest.mark.parametrize("paper", papers.names())
def test_each_figure_of_measurements_shows_the_reported_numbers(
    planned: PlannedFiles, paper: str
) -> None:
    """All figures of the paper preset, drawn from made-up measurements."""
    path = ROOT / FILE.format(paper)
    reported = read_reported(path, True).numbers
    marked = set()
    for name, record in planned.plan.figures.items():
        cells = record.cells()
        is_measured = all("/measurements/" in cell.path for cell in cells)
        if not name.startswith(f"{paper}/") or not is_measured:
            continue
        drawn = {"function": record.draw, "cells": as_values(cells), "options": record.options()}
        files = [*map(planned, files_of(cells))]
        assert record.reported, f"{name} draws measurements without what the paper reports"
        figure = draw(drawn, files, None, {"path": path, "is_comparable": True})
        is_transfer = record.draw.startswith("figures.transfer:")
        by_protocol: dict[int, list[float]] = {}
        for line in hollow(figure):
            place = line.axes.get_subplotspec().colspan.start if is_transfer else 0
            values = np.asarray(line.get_xdata() if is_transfer else line.get_ydata(), dtype=float)
            by_protocol.setdefault(place, []).extend(values[np.isfinite(values)])
        numbers_of = expected(name, reported)
        for values in by_protocol.values() if numbers_of else [[*by_protocol.values()]]:
            assert sorted(values) == pytest.approx(numbers_of), name
        assert (REPORTED in entries(figure)) is bool(numbers_of), name
        assert ("what the paper reports" in figure.get_label()) is bool(numbers_of), name
        marked |= {name} if numbers_of else set()
    assert bool(marked) is (ROOT / f"tests/papers/{paper}/reported_figures.yaml").exists()


@CURVES
def test_each_curve_that_was_read_off_shows_its_points(planned: PlannedFiles, file: Path) -> None:
    curves = read_measurements(file)
    printed = {"path": ROOT / FILE.format(file.stem), "is_comparable": True}
    for artifact, rows in curves.groupby("artifact"):
        names = [
            name for name in planned.plan.figures if name.startswith(f"{file.stem}/{artifact}.")
        ]
        assert names
        for name in names:
            record = planned.plan.figures[name]
            cells = record.cells()
            drawn = {
                "function": record.draw,
                "cells": as_values(cells),
                "options": record.options(),
            }
            files = [*map(planned, files_of(cells))]
            figure = draw(drawn, files, None, printed | {"read_off": {"path": file}})
            shown = {round(y, 2) for line in hollow(figure) for y in line.get_ydata() if y == y}
            assert shown == {*rows["value"]}, name
            (entry,) = [text for text in entries(figure) if "read off" in text.replace("\n", " ")]
            assert f"±{rows['error'].max():g}" in entry

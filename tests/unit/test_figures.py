"""Plots of transfer show what the data say; figures are saved with the same bytes twice."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from PIL import Image

from mbert_atlas.analysis.measurements import write_measurements
from mbert_atlas.analysis.separation import separation
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.figures.reported import Reported
from mbert_atlas.figures.style import GROUP_COLOURS, figure_style, save_figure
from mbert_atlas.figures.transfer import read_scores, scores_by_language, transfer_plot


def transfer() -> pd.DataFrame:
    return pd.DataFrame(
        [
            ("", language, condition, protocol, seed, base + gain + 0.1 * seed)
            for language, base in {"es": 74.0, "hi": 59.0}.items()
            for condition, gain in {"original": 0.0, "adjusted": 1.5}.items()
            for protocol in ("published", "corrected")
            for seed in (1, 2, 3)
        ],
        columns=["test", "language", "condition", "protocol", "seed", "value"],
    )


def test_separation_against_closed_forms_and_brute_force() -> None:
    low, high = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    assert separation(low, high) == (1.0, 1.5 / 4.0)
    assert separation(low, low)[0] == 0.5
    rng = np.random.default_rng(2)
    related, unrelated = rng.integers(1, 9, 40).astype(float), rng.integers(3, 12, 50).astype(float)
    wins = [(u > r) + 0.5 * (u == r) for r in related for u in unrelated]
    assert separation(related, unrelated)[0] == pytest.approx(np.mean(wins))


def test_transfer_plot_shows_seeds_means_and_hollow_reported_values() -> None:
    printed = {("es", "original"): 74.2, ("es", "adjusted"): 74.82}
    measured = transfer().assign(is_comparable=True)
    places = zip(measured["language"], measured["condition"], strict=True)
    measured["reported"] = [printed.get(place, np.nan) for place in places]
    figure = transfer_plot(
        measured, title="XNLI", value_label="accuracy (%)", names={"es": "Spanish"}
    )
    left, right = figure.axes
    assert left.get_title(loc="left") == "protocol: published"
    assert left.get_xlabel() == right.get_xlabel() == "accuracy (%)"
    assert [label.get_text() for label in left.get_yticklabels()] == ["Spanish", "hi"]
    seeds, means, hollow = left.lines[:3]
    assert len(seeds.get_xdata()) == 6
    assert np.allclose(means.get_xdata(), [74.2, 59.2])
    assert list(hollow.get_xdata()) == [74.2]
    assert hollow.get_ydata()[0] == means.get_ydata()[0]
    assert hollow.get_markerfacecolor() == "none"
    assert left.lines[0].get_ydata()[0] < left.lines[3].get_ydata()[0]  # upper row comes first
    assert left.yaxis_inverted()
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["original", "adjusted", "single seed", "reported by the paper"]


def test_conditions_keep_their_style_and_panels_show_their_languages() -> None:
    frame = transfer()
    order = ["original", "continual", "adjusted"]
    some = frame[(frame["language"] == "hi") & (frame["condition"] == "adjusted")]
    one_seed = some[some["seed"] == 1].assign(test="two")
    tests = pd.concat([frame.assign(test="one"), one_seed])
    figure = transfer_plot(tests, title="t", value_label="v", order=order)
    one, _, two, _ = figure.axes
    assert [tick.get_text() for tick in two.get_yticklabels()] == ["hi"]
    assert len(one.get_yticklabels()) == 2

    def look(axes: Axes, text: str) -> tuple[object, object]:
        (line,) = [line for line in axes.lines if line.get_label() == text]
        return line.get_color(), line.get_marker()

    assert look(one, "adjusted") == look(two, "adjusted")
    alone = frame[frame["condition"] == "adjusted"]
    figure = transfer_plot(alone, title="t", value_label="v", order=order)
    assert look(figure.axes[0], "adjusted") == look(one, "adjusted")
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert shown == ["adjusted", "single seed"]  # nothing else is drawn


def test_transfer_plot_has_bars_where_there_are_intervals() -> None:
    frame = transfer().assign(n=300, over="seeds and items", low=50.0, high=80.0)
    frame.loc[frame["language"] == "hi", "low"] = -500.0
    frame.loc[frame["condition"] == "adjusted", ["low", "high"]] = None
    frame.loc[frame["condition"] == "adjusted", "over"] = ""
    figure = transfer_plot(frame, title="t", value_label="v")
    axes = figure.axes[0]
    bars, *_ = [item for item in axes.collections if isinstance(item, LineCollection)]
    assert sorted(segment[:, 0].tolist() for segment in bars.get_segments()) == [
        *([-500.0, 80.0], [50.0, 80.0])
    ]
    assert 40 < axes.get_xlim()[0] < 59  # the long bar is cut off
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[-1] == "95% interval over seeds and test items"
    assert figure.get_label().startswith("n = 300 test items behind a number. 3 seeds. Bars: 95%")
    assert "No interval can be given for adjusted." in figure.get_label()
    assert figure.get_label().endswith("Bars that reach the frame go on behind it.")


def test_a_legend_of_long_names_fits() -> None:
    names = [
        f"window {window}, {sentences} sentences (paper: {paper})"
        for sentences, paper in (("4,000", "512, 200k"), ("30,000", "512, 1000k"))
        for window in (128, 20)
    ]
    frames = [transfer().assign(condition=name) for name in names]
    figure = transfer_plot(pd.concat(frames), title="t", value_label="v")
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1


def test_transfer_plot_checks_its_values() -> None:
    many = pd.concat(transfer().assign(condition=str(i)) for i in range(9))
    with pytest.raises(AtlasError, match="9 conditions are too many"):
        transfer_plot(many, title="t", value_label="v")


def test_scores_are_read_with_gains_first_and_by_language_of_training(tmp_path: Path) -> None:
    common = {"artifact": "table5", "condition": "adjusted", "source": "en", "seed": 1}
    rows = [
        {**common, "task": task, "target": "ru", "protocol": protocol, "metric": m, "value": v}
        for task, headline in (("xnli", "accuracy"), ("mlqa:qa_mixed", "f1"))
        for protocol in ("published", "corrected")
        for m, v in ((headline, 70.0), ("exact_match", 60.0), ("p_value", 0.1))
    ]
    path = tmp_path / "m.csv"
    write_measurements(rows, path, paper="somebody2020")
    measured, label = read_scores(path, {})
    assert label == "accuracy or F1 (%), see the headings"
    assert set(measured["test"]) == {"XNLI (accuracy)", "MLQA: mixed (F1)"}
    assert set(measured["protocol"]) == {"both"}  # they agree in all values
    assert set(measured["metric"]) == {"accuracy", "f1"}
    other = [{**row, "source": "de"} for row in rows if row["metric"] == "accuracy"]
    write_measurements([*rows, *other], path)
    found = read_scores(path, {})[0]
    assert "XNLI (accuracy), trained on de" in set(found["test"])
    by_layer = [{**row, "layers": layer} for row in rows for layer in ("1", "2")]
    write_measurements([*rows, *by_layer], path)
    assert len(read_scores(path, {})[0]) == len(measured)
    gains = [{**rows[0], "metric": "gain_over_original", "value": 1.0}]
    write_measurements([*rows, *gains], path)
    found, label = read_scores(path, {})
    assert (found["language"].tolist(), label) == (["XNLI"], "gain in accuracy or F1 (points)")


def test_what_the_paper_reports_over_all_languages_stands_above_them(tmp_path: Path) -> None:
    common = {"paper": "somebody2020", "artifact": "table1", "task": "xnli", "model": "mbert"}
    common |= {"condition": "original", "source": "en", "layers": ""}
    rows = [
        {**common, "target": target, "metric": metric, "value": value}
        for target, metric, value in (
            *(("ru", "accuracy", 60.0), ("hi", "accuracy", 50.0), ("hi", "f1", 1.0)),
            *(("", "macro_f1_label", 70.0), ("", "macro_f1_union", 71.0)),
        )
    ]
    write_measurements(rows, tmp_path / "m.csv")
    reported = Reported(pd.DataFrame([{**rows[3], "value": 72.0}]), True)
    measured, label = read_scores(tmp_path / "m.csv", {}, None, reported)
    assert label == "%, see the headings"
    assert measured[["test", "language", "value"]].values.tolist() == [
        ["all languages", "macro_f1_label", 70.0],
        ["accuracy (%) by language", "ru", 60.0],
        ["accuracy (%) by language", "hi", 50.0],
    ]
    figure = transfer_plot(measured, title="t", value_label=label)
    above, below = figure.axes
    assert [tick.get_text() for tick in above.get_yticklabels()] == ["macro F1, labels"]
    assert [line.get_xdata().tolist() for line in above.lines] == [[70.0], [72.0]]
    assert len(below.lines) == 1


def test_a_single_row_is_higher_than_its_legend() -> None:
    frame = transfer().assign(over="seeds and items", low=50.0, high=80.0)
    frame = frame[(frame["language"] == "hi") & (frame["protocol"] == "published")]
    frame = frame.assign(reported=60.0, is_comparable=False)
    figure = transfer_plot(frame, title="t", value_label="v")
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert box.height < figure.axes[0].get_window_extent().height
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1


def test_saved_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    first, second = (
        save_figure(transfer_plot(transfer(), title="t", value_label="v"), tmp_path / name)
        for name in ("first", "second")
    )
    assert dict(mpl.rcParams) == before
    names = ["first.svg", "first.png", "second.svg", "second.png"]
    assert [path.name for path in (*first, *second)] == names
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    for one, other in zip(first, second, strict=True):
        assert len(one.read_bytes()) > 5_000
        assert one.read_bytes() == other.read_bytes()
    assert "<dc:date>" not in first[0].read_text()
    save_figure(transfer_plot(transfer(), title="t", value_label="v"), tmp_path / "a.b", "Shown.")
    assert (tmp_path / "a.b.caption.txt").read_text().startswith("Shown. 3 seeds. ")
    save_figure(transfer_plot(transfer(), title="t", value_label="v"), tmp_path / "c", "")
    assert (tmp_path / "c.caption.txt").read_text().startswith("3 seeds. ")


def test_scores_by_language_have_the_first_metric_of_each_task() -> None:
    names = ("task", "condition", "target", "layers", "metric", "value")
    rows = [
        ("xnli", "original", "ru", "", "accuracy", 60.0),
        ("xnli", "original", "ru", "", "f1", 61.0),
        ("xnli", "original", "ru", "1-2", "accuracy", 62.0),
        ("xnli", "original", "", "", "accuracy", 63.0),
        ("ner", "adjusted", "hi", "", "token_f1", 40.0),
    ]
    points = scores_by_language(pd.DataFrame(rows, columns=list(names)))
    assert points[["panel", "line", "along", "value"]].values.tolist() == [
        ["xnli", "original", "ru", 60.0],
        ["ner", "adjusted", "hi", 40.0],
    ]


def test_a_style_sheet_overrides_the_style_of_all_figures(tmp_path: Path) -> None:
    sheet = tmp_path / "journal.mplstyle"
    sheet.write_text(
        "font.family: STIXGeneral\naxes.titlesize: 13\nsavefig.dpi: 50\n"
        "axes.prop_cycle: cycler('color', ['112233', '445566'])\n"
    )
    before = dict(mpl.rcParams)
    with figure_style(sheet):
        figure = transfer_plot(transfer(), title="t", value_label="v")
        save_figure(figure, tmp_path / "sheet")
    plain = transfer_plot(transfer(), title="t", value_label="v")
    save_figure(plain, tmp_path / "plain")
    assert dict(mpl.rcParams) == before
    drawn = {line.get_color() for line in figure.axes[0].lines}
    assert {"#112233", "#445566"} <= drawn
    assert not {GROUP_COLOURS[0]} & drawn
    title, ours = (it.axes[0].title for it in (figure, plain))
    assert (title.get_fontname(), title.get_fontsize()) == ("STIXGeneral", 13)
    assert (ours.get_fontname(), ours.get_fontsize()) == ("DejaVu Sans", 10)
    widths = [Image.open(tmp_path / f"{name}.png").width for name in ("sheet", "plain")]
    assert widths == [7.2 * 50, 7.2 * 130]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("font.size: 8\nfont.siz: 9\n", r"Bad key font.siz in file .*, line 2 .*; write `key: val"),
        ("axes.labelsize: giant\n", r"Bad value in file .*line 1 .*not a valid font size"),
        ("fonts\n", r"Missing colon in file .*, line 1"),
        (None, "no such file; correct the path"),
    ],
)
def test_a_style_sheet_with_a_mistake(tmp_path: Path, text: str | None, sentence: str) -> None:
    if text:
        (tmp_path / "a.mplstyle").write_text(text)
    with pytest.raises(DataError, match=sentence), figure_style(tmp_path / "a.mplstyle"):
        pass

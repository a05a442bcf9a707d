"""Figures show what the data say, keep their labels apart, and save the same bytes twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from mbert_atlas.analysis.measurements import write_measurements
from mbert_atlas.analysis.separation import separation
from mbert_atlas.cells import Cell
from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.curves import curve_plot
from mbert_atlas.figures.distances import (
    distance_grid,
    distance_histograms,
    panel_titles,
    read_distances,
)
from mbert_atlas.figures.style import save_figure
from mbert_atlas.figures.transfer import read_scores, transfer_plot
from mbert_atlas.files import write_parquet
from mbert_atlas.schemas import WORD_DISTANCES

PANELS = {"original": (14, 17), "adjusted": (10, 17), "NLI-tuned": (9, 9.5), "both": (8, 10)}


def distances(seeds: tuple[int, ...] = (1, 2, 3), size: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.concat(
        pd.DataFrame(
            {
                "panel": panel,
                "seed": seed,
                "kind": kind,
                "distance": rng.normal(mean, 1.0, size),
            }
        )
        for panel, means in PANELS.items()
        for seed in seeds
        for kind, mean in zip(("related", "unrelated"), means, strict=True)
    )


def transfer() -> pd.DataFrame:
    return pd.DataFrame(
        [
            (language, condition, protocol, seed, base + gain + 0.1 * seed)
            for language, base in {"es": 74.0, "hi": 59.0}.items()
            for condition, gain in {"original": 0.0, "adjusted": 1.5}.items()
            for protocol in ("published", "corrected")
            for seed in (1, 2, 3)
        ],
        columns=["language", "condition", "protocol", "seed", "value"],
    )


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(mpl.text.Text) if text.get_text()]


def test_separation_against_closed_forms_and_brute_force() -> None:
    low, high = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    assert separation(low, high) == (1.0, 1.5 / 4.0)
    assert separation(low, low).auc == 0.5
    rng = np.random.default_rng(2)
    related, unrelated = rng.integers(1, 9, 40).astype(float), rng.integers(3, 12, 50).astype(float)
    wins = [(u > r) + 0.5 * (u == r) for r in related for u in unrelated]
    assert separation(related, unrelated).auc == pytest.approx(np.mean(wins))


def test_distance_panels_share_bins_and_axes_and_carry_their_numbers() -> None:
    frame = distances()
    figure = distance_histograms(frame, title="Hindi–English", bins=20)
    panels = figure.axes
    assert [axes.get_title(loc="left") for axes in panels] == [
        f"({letter}) {name}" for letter, name in zip("abcd", PANELS, strict=True)
    ]
    assert len({axes.get_xlim() for axes in panels}) == 1
    assert len({axes.get_ylim() for axes in panels}) == 1
    assert [axes.get_xlabel() for axes in panels[2:]] == ["L2 distance"] * 2
    assert panels[0].get_ylabel() == "share of pairs (%)"
    low, high = frame["distance"].min(), frame["distance"].max()
    edges = np.linspace(low - (high - low) / 20, high + (high - low) / 20, 23)
    for axes, panel in zip(panels, PANELS, strict=True):
        steps = [patch.get_data() for patch in axes.patches if isinstance(patch, StepPatch)]
        assert len(steps) == 6  # for either kind: fill, line, band over seeds
        assert all(np.allclose(step.edges, edges) for step in steps)
        cells = frame[frame["panel"] == panel]
        for index, kind in enumerate(("related", "unrelated")):
            of_kind = cells[cells["kind"] == kind]
            shares = [
                np.histogram(of_seed["distance"], edges)[0] / 3  # percent of 300
                for _, of_seed in of_kind.groupby("seed")
            ]
            assert np.allclose(steps[3 * index + 1].values, np.mean(shares, axis=0))
            assert np.allclose(steps[3 * index + 2].values, np.max(shares, axis=0))
            assert np.allclose(steps[3 * index + 2].baseline, np.min(shares, axis=0))
        by_seed = [
            separation(
                seed[seed["kind"] == "related"]["distance"].to_numpy(),
                seed[seed["kind"] == "unrelated"]["distance"].to_numpy(),
            )
            for _, seed in cells.groupby("seed")
        ]
        note = axes.texts[0].get_text()
        assert f"AUC {np.mean([s.auc for s in by_seed]):.3f}" in note
        assert f"mean ratio {np.mean([s.ratio for s in by_seed]):.3f}" in note
        assert f"–{max(s.auc for s in by_seed):.3f})" in note
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[:2] == ["related", "related, range of 3 seeds"]


def test_distance_panels_can_be_chosen_and_one_seed_has_no_band() -> None:
    figure = distance_histograms(
        distances(seeds=(1,)), title="t", panels=["adjusted", "original", "both"], columns=2
    )
    shown = [axes.get_title(loc="left") for axes in figure.axes if axes.axison]
    assert shown == ["(a) adjusted", "(b) original", "(c) both"]
    assert "range" not in " ".join(texts(figure))
    assert "(" not in figure.axes[0].texts[0].get_text()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda frame: frame.drop(columns="kind"), "no column kind"),
        (lambda frame: frame.iloc[:0], "no rows"),
        (lambda frame: frame.assign(distance=-frame["distance"]), "3600.* negative or not finite"),
        (lambda frame: frame.replace({"distance": {frame["distance"].max(): np.nan}}), "1 dist"),
        (lambda frame: frame.replace({"kind": {"related": "same"}}), "unknown kind same"),
        (
            lambda frame: frame[
                ~((frame["panel"] == "both") & (frame["seed"] == 2) & (frame["kind"] == "related"))
            ],
            "panel both, seed 2 has no related pairs",
        ),
    ],
)
def test_unusable_distances_are_refused(
    spoil: Callable[[pd.DataFrame], pd.DataFrame], message: str
) -> None:
    with pytest.raises(AtlasError, match=message):
        distance_histograms(spoil(distances(size=150)), title="t")


def test_an_absent_panel_is_named() -> None:
    with pytest.raises(AtlasError, match="no distances for panel continual"):
        distance_histograms(distances(), title="t", panels=["original", "continual"])


def test_a_grid_has_a_column_per_language_and_a_row_per_panel() -> None:
    frame = pd.concat(distances(seeds=(1, 2)).assign(language=code) for code in ("hi", "ru"))
    chosen = {"adjusted": "adjusted,\nthen", "original": "as it was"}
    figure = distance_grid(
        frame, title="Words", languages={"ru": "Russian", "hi": "Hindi"}, panels=chosen
    )
    assert len(figure.axes) == 4
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == ["Russian", "Hindi"]
    assert [figure.axes[k].get_ylabel() for k in (0, 2)] == list(chosen.values())
    texts = [axes.texts[0].get_text() for axes in figure.axes]
    assert texts[0] == texts[1]  # the same numbers in both languages
    assert float(texts[0].split()[1]) > float(texts[2].split()[1]) > 0.9  # AUC
    with pytest.raises(AtlasError, match="no distances for panel absent"):
        distance_grid(frame, title="", languages={"hi": "Hindi"}, panels={"absent": ""})


def test_distances_are_read_by_protocol(tmp_path: Path) -> None:
    for language in ("hi", "ru"):
        (tmp_path / language).mkdir()
        columns = {
            "panel": ["nli", "adjusted", "adjusted"],
            "protocols": [["published", "corrected"], ["published"], ["corrected"]],
            "kind": ["related"] * 3,
            "distance": [1.0, 2.0, 3.0],
        }
        table = pa.table(columns, schema=WORD_DISTANCES)
        write_parquet(table, tmp_path / language / "seed2.parquet")
    cells = [
        Cell(language=code, seed=2, path=str(tmp_path / code / "seed2.parquet"))
        for code in ("hi", "ru")
    ]
    frame = read_distances(cells, "corrected")
    assert frame.groupby("panel")["distance"].first().to_dict() == {"nli": 1.0, "adjusted": 3.0}
    assert frame["language"].tolist() == ["hi", "hi", "ru", "ru"]
    assert set(frame["seed"]) == {2}


def test_panels_have_readable_titles() -> None:
    assert panel_titles(["original", "adjusted_nli", "adjusted_continual-qa"]) == {
        "original": "original",
        "adjusted_nli": "adjusted, then NLI",
        "adjusted_continual-qa": "adjusted, then continual QA",
    }


def test_transfer_plot_shows_seeds_means_and_hollow_reported_values() -> None:
    reported = pd.DataFrame(
        [("es", "original", 74.2), ("es", "adjusted", 74.82), ("ru", "original", 67.95)],
        columns=["language", "condition", "value"],
    )
    figure = transfer_plot(
        transfer(), reported, title="XNLI", value_label="accuracy (%)", names={"es": "Spanish"}
    )
    left, right = figure.axes
    assert left.get_title(loc="left") == "protocol: published"
    assert left.get_xlabel() == right.get_xlabel() == "accuracy (%)"
    assert [label.get_text() for label in left.get_yticklabels()] == ["Spanish", "hi"]
    seeds, means, hollow = left.lines[:3]
    assert len(seeds.get_xdata()) == 6
    assert np.allclose(means.get_xdata(), [74.2, 59.2])
    assert list(hollow.get_xdata()) == [74.2]  # Russian was not measured
    assert hollow.get_markerfacecolor() == "none"
    assert left.lines[0].get_ydata()[0] < left.lines[3].get_ydata()[0]  # upper row comes first
    assert left.yaxis_inverted()
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["original", "adjusted", "one seed", "reported by the paper"]


def test_conditions_keep_their_look_and_panels_have_their_own_languages() -> None:
    frame = transfer()
    order = ["original", "continual", "adjusted"]
    tests = pd.concat(
        [
            frame.assign(test="one"),
            frame[(frame["language"] == "hi") & (frame["condition"] == "adjusted")].assign(
                test="two", seed=1
            ),
        ]
    ).drop_duplicates(["test", "language", "condition", "protocol", "seed"])
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
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["adjusted", "one seed"]


def test_a_legend_names_only_what_is_drawn() -> None:
    reported = pd.DataFrame([("ru", "original", 1.0)], columns=["language", "condition", "value"])
    frame = transfer()
    figure = transfer_plot(frame[frame["seed"] == 1], reported, title="t", value_label="v")
    found = [text.get_text() for text in figure.legends[0].get_texts()]
    assert found == ["original", "adjusted"]


def test_curves_keep_the_look_of_a_line() -> None:
    def colours(lines: str) -> dict[str, object]:
        frame = pd.DataFrame(
            [{"panel": "p", "line": line, "along": 1, "value": 1, "seed": 1} for line in lines]
        )
        figure = curve_plot(frame, title="", along_label="", value_label="", order=list("abc"))
        return {str(line.get_label()): line.get_color() for line in figure.axes[0].lines}

    assert colours("cb")["c"] == colours("c")["c"] == colours("abc")["c"]


def test_transfer_plot_refuses_what_it_cannot_show() -> None:
    with pytest.raises(AtlasError, match="nothing measured for condition continual"):
        transfer_plot(transfer(), title="t", value_label="v", conditions=["continual"])
    with pytest.raises(AtlasError, match="not a finite number"):
        transfer_plot(transfer().assign(value=np.nan), title="t", value_label="v")
    many = pd.concat(transfer().assign(condition=str(i)) for i in range(9))
    with pytest.raises(AtlasError, match="9 conditions are too many"):
        transfer_plot(many, title="t", value_label="v")


@pytest.mark.parametrize(("lines", "legends"), [("ab", 1), ("cd", 2)])
def test_curves_have_legends_of_their_own_if_panels_share_no_line(lines: str, legends: int) -> None:
    frame = pd.DataFrame(
        [
            {"panel": panel, "line": line, "along": 1, "value": 1, "seed": 1}
            for panel, own in (("p", "ab"), ("q", lines))
            for line in own
        ]
    )
    figure = curve_plot(frame, title="t", along_label="x", value_label="y")
    inside = [axes.get_legend() for axes in figure.axes]
    assert len(figure.legends) + sum(legend is not None for legend in inside) == legends
    many = [frame.assign(line=frame["panel"] + str(number)) for number in range(7)]
    with pytest.raises(AtlasError, match="7 lines are too many"):
        curve_plot(pd.concat(many).drop_duplicates(), title="", along_label="", value_label="")


def test_scores_are_read_with_gains_first_and_by_language_of_training(tmp_path: Path) -> None:
    common = {"artifact": "table5", "condition": "adjusted", "source": "en", "seed": 1}
    rows = [
        {**common, "task": task, "target": "ru", "protocol": protocol, "metric": m, "value": v}
        for task, shift in (("xnli", 0.0), ("mlqa:qa_mixed", 5.0))
        for protocol in ("published", "corrected")
        for m, v in (("accuracy", 70.0 + shift), ("f1", 60.0 + shift), ("p_value", 0.1))
    ]
    path, reported = tmp_path / "m.csv", tmp_path / "r.csv"
    write_measurements(rows, path, paper="somebody2020")
    pd.DataFrame(rows).assign(metric="accuracy").to_csv(reported, index=False)
    measured, beside, label = read_scores(path, reported)
    assert label == "accuracy, F1 (%)"
    assert set(measured["test"]) == {"XNLI", "MLQA: mixed"}
    assert set(measured["protocol"]) == {"both"}  # they agree in all values
    assert beside is not None
    assert set(beside["metric"]) == {"accuracy"}
    other = [{**row, "source": "de"} for row in rows if row["metric"] == "accuracy"]
    write_measurements([*rows, *other], path)
    found = read_scores(path, None)[0]
    assert "XNLI, trained on de" in set(found["test"])
    by_layer = [{**row, "layers": layer} for row in rows for layer in ("1", "2")]
    write_measurements([*rows, *by_layer], path)
    assert len(read_scores(path, None)[0]) == len(measured)
    gains = [{**rows[0], "metric": "gain_over_original", "value": 1.0}]
    write_measurements([*rows, *gains], path)
    found, _, label = read_scores(path, None)
    assert (found["language"].tolist(), label) == (["XNLI"], "gain (points)")


@pytest.mark.parametrize(
    "draw",
    [
        lambda: distance_histograms(distances(size=100), title="t"),
        lambda: transfer_plot(transfer(), title="t", value_label="v"),
    ],
    ids=["distances", "transfer"],
)
def test_saved_twice_gives_the_same_bytes(draw: Callable[[], Figure], tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    first = save_figure(draw(), tmp_path / "first")
    second = save_figure(draw(), tmp_path / "second")
    assert dict(mpl.rcParams) == before
    assert [path.name for path in first] == ["first.svg", "first.png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "first.png",
        "first.svg",
        "second.png",
        "second.svg",
    ]
    for one, other in zip(first, second, strict=True):
        assert len(one.read_bytes()) > 5_000
        assert one.read_bytes() == other.read_bytes()
    assert "<dc:date>" not in first[0].read_text()

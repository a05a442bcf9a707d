"""Figures 3 to 6: every point has the look of its class, and names keep apart."""

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.markers import MarkerStyle

from mbert_atlas.analysis.measurements import read_measurements, write_measurements
from mbert_atlas.cells import Cell
from mbert_atlas.corpora import nli
from mbert_atlas.corpora.universal_dependencies import UPOS
from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.projection import language_looks
from mbert_atlas.figures.reported import NOT_COMPARABLE, REPORTED, Reported
from mbert_atlas.files import write_json, write_parquet
from mbert_atlas.papers.tanti2021.figures import (
    LABEL_LOOKS,
    Condition,
    draw_maps,
    macro_f1,
    map_grid,
    read_condition,
)
from mbert_atlas.schemas import MEASUREMENT_COLUMNS, PROJECTION

FAMILIES = {"Germanic": "af de en nl", "Romance": "es fr it pt", "Indic": "hi mr ur"}
ALONE = ["el", "eu", "fa", "hu", "id", "ja", "ko", "ta", "te", "th", "tl", "vi", "yo", "zh"]
GENERA = {code: name for name, codes in FAMILIES.items() for code in codes.split()}
GENERA = dict(sorted((GENERA | {code: f"genus of {code}" for code in ALONE}).items()))
LOOKS = language_looks(GENERA, "single-language genera")
NAMES = {code: f"Name of {code}" for code in GENERA}


def points(
    by: str, languages: Sequence[str], labels: Sequence[str], size: int = 3, spread: float = 20.0
) -> pd.DataFrame:
    """Clusters of target examples by label or by language, and of paragraphs by language."""
    rng = np.random.default_rng(1)
    rows = [
        *(("target", code, tag) for code in languages for tag in labels for _ in range(size)),
        *(("wikipedia", code, None) for code in GENERA for _ in range(5 * size)),
    ]
    frame = pd.DataFrame(rows, columns=["dataset", "language", "label"])
    groups = frame[by].where(frame["dataset"] == "target", frame["language"])
    centres = {name: rng.normal(0, spread, 2) for name in dict.fromkeys(groups)}
    noise = rng.normal(0, 1, (len(frame), 2))
    frame[["x", "y"]] = np.stack([centres[name] for name in groups]) + noise
    return frame


def maps(
    task: str = "udpos",
    languages: Sequence[str] = tuple(GENERA),
    spoil: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame,
    spread: float = 20.0,
) -> Figure:
    labels = list(LABEL_LOOKS[task])
    scores = {
        "label": {"macro F1": "59.6% [57.0, 62.1]", "V-measure": "47.5%", "AMI": "-0.1%"},
        "language_target": {"V-measure": "50.0%"},
    }
    tuned = spoil(points("label", languages, labels, spread=spread))
    return map_grid(
        [
            Condition("initial", points("language", languages, labels, spread=spread), {}),
            Condition("fine-tuned", tuned, scores),
        ],
        title="t",
        task=task,
        names=NAMES,
        genera=GENERA,
        note="seed 1",
    )


def drawn(axes: Axes) -> list[tuple[float, float, str, int]]:
    """Return position, colour and number of path vertices (a marker's) of each point, sorted."""
    cloud = axes.collections[0]
    assert isinstance(cloud, PathCollection)
    assert cloud.get_rasterized()
    offsets = np.asarray(cloud.get_offsets()).tolist()
    colours = [to_hex(colour) for colour in cloud.get_facecolor()]
    sides = [len(path.vertices) for path in cloud.get_paths()]
    return sorted((x, y, c, n) for (x, y), c, n in zip(offsets, colours, sides, strict=True))


def legend(figure: Figure, index: int) -> list[tuple[str, object, object]]:
    """Return text, colour and marker of each line; -2 for the labels, -1 for the languages."""
    box = figure.axes[index].get_legend()
    assert box is not None
    return [
        (text.get_text(), getattr(handle, "get_color", str)(), getattr(handle, "get_marker", str)())
        for handle, text in zip(box.legend_handles, box.get_texts(), strict=True)
    ]


def test_labels_of_every_task_differ_in_colour_and_markers_within_a_family() -> None:
    assert set(LABEL_LOOKS["udpos"]) == UPOS
    assert set(LABEL_LOOKS["xnli"]) == set(nli.LABELS)
    for style in LABEL_LOOKS.values():
        assert len({look.colour for look in style.values()}) == len(style)
        assert len({(look.marker, look.heading) for look in style.values()}) == len(style)


def test_panels_show_every_point_with_the_look_of_its_class() -> None:
    figure = maps()
    frame = points("label", list(GENERA), list(LABEL_LOOKS["udpos"]))
    rows = [("target", "label"), ("target", "language"), ("wikipedia", "language")]
    for axes, (dataset, column) in zip(figure.axes[1:6:2], rows, strict=True):
        style = LABEL_LOOKS["udpos"] if column == "label" else LOOKS
        shown = frame[frame["dataset"] == dataset]
        expected = sorted(
            (x, y, style[name].colour.lower(), len(MarkerStyle(style[name].marker).get_path()))
            for x, y, name in zip(shown["x"], shown["y"], shown[column], strict=True)
        )
        assert drawn(axes) == expected


@pytest.mark.parametrize("task", ["udpos", "xnli"])
def test_legends_name_every_class_once_and_lie_within_the_figure(task: str) -> None:
    figure = maps(task)
    lines = legend(figure, -1)
    assert [line for line in lines if line[1]] == [
        (f"{code} Name of {code}", look.colour, look.marker) for code, look in LOOKS.items()
    ]
    headings = [text for text, colour, _ in lines if not colour]
    assert sorted(headings) == sorted([*FAMILIES, "single-language genera"])
    lines = legend(figure, -2)
    assert [line[0].split()[0] for line in lines if line[1]] == list(LABEL_LOOKS[task])
    assert len([line for line in lines if not line[1]]) == (3 if task == "udpos" else 0)
    boxes = [axes.get_legend().get_window_extent() for axes in figure.axes[6:]]
    right = max(axes.get_window_extent().x1 for axes in figure.axes[:6])
    assert boxes[0].y0 > boxes[1].y1 > boxes[1].y0 > 0
    for box in boxes:
        assert right < box.x0
        assert box.x1 < figure.bbox.x1
        assert box.y1 < figure.bbox.y1


@pytest.mark.parametrize("spread", [20.0, 4.0])
def test_names_in_a_panel_do_not_cover_each_other(spread: float) -> None:
    figure = maps(spread=spread)
    named = [sorted(text.get_text() for text in axes.texts) for axes in figure.axes[:6]]
    if spread == 20.0:
        languages, labels = sorted(GENERA), sorted(LABEL_LOOKS["udpos"])
        # no names where each cluster has points of all classes
        assert named == [[], labels, languages, [], languages, languages]
    assert len(named[4]) > 15
    for axes in figure.axes[:6]:
        frame = axes.get_window_extent()
        boxes = [text.get_window_extent() for text in axes.texts]
        for index, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[:index])
            assert frame.x0 <= box.x0 < box.x1 <= frame.x1
            assert frame.y0 <= box.y0 < box.y1 <= frame.y1


def test_titles_have_letters_and_the_measured_scores() -> None:
    figure = maps()
    titles = [axes.get_title(loc="left") for axes in figure.axes[:6]]
    assert titles == [
        "(a) UDPOS labels, initial\n",
        "(b) UDPOS labels, fine-tuned\nmacro F1 59.6% [57.0, 62.1], V-measure 47.5%, AMI -0.1%",
        "(c) UDPOS languages, initial\n",
        "(d) UDPOS languages, fine-tuned\nV-measure 50.0%",
        "(e) Wikipedia languages, initial\n",
        "(f) Wikipedia languages, fine-tuned\n",
    ]
    assert {"t", "seed 1"} <= {text.get_text() for text in figure.findobj(mpl.text.Text)}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda frame: frame.replace({"label": {"NOUN": "N"}}), r"has an unknown label \(N\)"),
        (lambda frame: frame.replace({"language": {"zh": "sw"}}), r"unknown language \(sw\)"),
    ],
)
def test_unusable_projections_are_rejected(
    spoil: Callable[[pd.DataFrame], pd.DataFrame], message: str
) -> None:
    with pytest.raises(AtlasError, match=message):
        maps(spoil=spoil)


def test_a_map_reads_points_and_scores_of_its_protocol_and_task(tmp_path: Path) -> None:
    paths = {name: str(tmp_path / name) for name in ("points", "clusters", "scores")}
    cell = Cell("udpos", condition="fine_tuned", protocol="corrected", seed=1, paths=paths)
    frame = points("label", ["de", "hi"], ["NOUN", "VERB"])
    frame = frame.assign(example_id=frame.index.map(str))
    table = pa.Table.from_pandas(frame, PROJECTION, preserve_index=False)
    write_parquet(table, tmp_path / "points")
    agreement = {"v_measure": 0.475, "ami": 0.25, "v_measure_chance": 0.1, "n": 12, "k": 2}
    clusters = {
        "label": {"published": agreement, "corrected": {**agreement, "ami": 0.5}},
        "language_wikipedia": {"published": agreement},
    }
    write_json(clusters, tmp_path / "clusters")
    common = {"condition": "fine_tuned", "task": "udpos", "metric": "macro_f1_label"}
    rows = [
        {**common, "protocol": "corrected", "seed": 1, "value": 59.0},
        {**common, "protocol": "corrected", "seed": 2, "value": 60.0},
        {**common, "protocol": "corrected", "seed": 2, "value": 9.0, "target": "de"},
        {**common, "protocol": "published", "seed": 1, "value": 9.0},
        {**common, "protocol": "corrected", "value": 9.0, "condition": "initial"},
        {**common, "protocol": "corrected", "value": 9.0, "task": "xnli"},
        {**common, "protocol": "corrected", "value": 7.0, "metric": "macro_f1_language_target"},
    ]
    write_measurements(rows, tmp_path / "scores", paper="somebody2020")
    condition = read_condition(cell)
    assert condition.name == "fine-tuned"
    assert condition.scores == {
        "label": {"macro F1": "59.5%", "V-measure": "47.5%", "AMI": "50.0%"},
        "language_target": {"macro F1": "7.0%"},
        "language_wikipedia": {},
    }
    assert condition.points["label"].isna().equals(condition.points["dataset"] == "wikipedia")
    for column in ("dataset", "language", "x", "y"):
        assert condition.points[column].tolist() == table[column].to_pylist()

    keys = [*MEASUREMENT_COLUMNS[:9]]
    printed = read_measurements(tmp_path / "scores")[[*keys, "value"]].iloc[[0, 0]]
    printed["metric"] = ["macro_f1_label", "v_measure_label"]
    printed = printed.assign(value=[78.3, 13.0], artifact=["", "table3"])
    for is_comparable, name in ((True, REPORTED), (False, NOT_COMPARABLE)):
        reported = Reported(printed, is_comparable)
        figure = draw_maps([cell], title="t", names=NAMES, genera=GENERA, reported=reported)
        above = [axes.get_title(loc="right") for axes in figure.axes[:3]]
        assert above == ["\N{WHITE CIRCLE} macro F1 78.3%, V-measure 13.0%", "", ""]
        assert figure.texts[-1].get_text().endswith(f" \N{WHITE CIRCLE}: {name}.")
        assert "in a heading" in figure.get_label()
    figure = draw_maps([cell], title="t", names=NAMES, genera=GENERA)
    assert not any(axes.get_title(loc="right") for axes in figure.axes)
    assert "\N{WHITE CIRCLE}" not in figure.get_label()
    notes = [text.get_text() for text in figure.texts]
    assert any(note.startswith("Protocol: corrected.") and "seed 1" in note for note in notes)
    ends = {**common, "protocol": "corrected", "low": 52.04, "high": 66.0, "over": "seeds"}
    intervals = pd.DataFrame([ends])
    scores = read_condition(cell, intervals).scores
    assert scores["label"]["macro F1"] == "59.5% [52.0, 66.0]"
    assert scores["language_target"]["macro F1"] == "7.0%"
    assert (
        "95% interval over seeds"
        in draw_maps([cell], title="t", names=NAMES, genera=GENERA, intervals=intervals).get_label()
    )


def test_main_curves_are_macro_f1_over_all_languages() -> None:
    metrics = ("accuracy", "macro_f1_label", "macro_f1_language_wikipedia")
    rows = [
        {"task": "udpos", "condition": condition, "target": target, "metric": metric, "value": 1.0}
        for condition in ("initial", "fine_tuned")
        for target in ("", "de")
        for metric in metrics
    ]
    points = macro_f1(pd.DataFrame(rows))
    assert points[["panel", "line", "along"]].values.tolist() == [
        ["udpos", condition, along]
        for condition in ("initial", "fine_tuned")
        for along in ("labels", "languages,\nWikipedia")
    ]

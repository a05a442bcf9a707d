"""Aligners that the paper's runs need and that are not installed: named before any job."""

import sys

import pytest
from configs import ROOT, config
from test_bad_planning import plan_of

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.config.reading import with_lines
from mbert_atlas.errors import DataError
from mbert_atlas.papers.efimov2022.artifacts import conditions_by_size
from workflow.aligners import check_aligners
from workflow.needs import check_needs


@pytest.mark.parametrize(
    ("text", "targets", "places"),
    [
        ("offline: false\n", ["all"], ["key runs.adjusted-eflomal.aligner"]),
        ("offline: false\n", ["efimov2022_aligners"], ["key runs.adjusted-eflomal.aligner"]),
        (
            "offline: false\n",
            ["results/paper/alignment/wikimatrix/hi.eflomal.pharaoh"],
            ["adjusted-eflomal.al"],
        ),
        ("offline: false\n", ["efimov2022_table2", "efimov2022_figure1"], []),
        ("alignment: {aligner: fast_align}\n", ["efimov2022_table1"], []),
        ("alignment: {aligner: fast_align}\n", ["efimov2022_table3"], ["line 1, key alignment.al"]),
        ("alignment: {aligner: fast_align}\n", ["efimov2022_figure1"], ["line 1, key alignment"]),
        (
            "alignment: {aligner: fast_align}\n",
            ["all"],
            ["line 1, key alignment.aligner: fast_align is not on PATH", "key runs.adjusted-eflo"],
        ),
        ("alignment: {aligner: eflomal}\n", ["efimov2022_aligners"], ["line 1, key alignment.al"]),
    ],
)
def test_aligners_that_are_not_installed(tmp_path, monkeypatch, text, targets, places):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "thot.alignment", None)
    plan, files = plan_of(tmp_path, text)
    if not places:
        return check_aligners(plan, targets)
    with pytest.raises(DataError) as caught:
        check_aligners(plan, targets)
    errors = str(with_lines(caught.value, files)).splitlines()
    lines = errors[1:] if len(places) > 1 else errors
    assert len(lines) == len(places)  # in the order of the files, which is not that of the places
    for place in places:
        assert sum(place in line for line in lines) == 1


@pytest.mark.parametrize("preset", ["demo", "small"])
def test_only_small_needs_a_wheel(tmp_path, monkeypatch, preset):
    monkeypatch.setitem(sys.modules, "thot.alignment", None)
    plan = plan_of(tmp_path, "offline: true\n", ROOT / f"config/{preset}.yaml")[0]
    if preset == "demo":
        return check_aligners(plan, ["all"])
    with pytest.raises(DataError, match="eflomal needs the package sil-thot"):
        check_aligners(plan, ["all"])


AFTER = """
runs:
  ner-after-nli: {like: ner, encoder: nli}
  ner-after-adjusted: {like: ner, encoder: nli-adjusted, evaluate: {wikiann-test: ['{language}']}}
"""


def test_word_links_are_those_of_the_last_adjustment(tmp_path):
    text = AFTER + "efimov2022: {tables: {aligners: {tests: {xnli: null}, conditions: "
    text += "{after: ner-after-nli, twice: ner-after-adjusted}}}}\n"
    cells = plan_of(tmp_path, text)[0].measurements["efimov2022/aligners_links"].cells()
    of = {
        condition: {cell.path for cell in cells if cell.condition == condition}
        for condition in ("after", "twice", "adjusted")
    }
    assert of["twice"] == of["adjusted"] != set()
    assert of["after"] == set()


def test_a_start_without_an_adjustment_has_no_size(tmp_path):
    text = AFTER + "efimov2022: {tables: {table5: {tests: {xnli: null, tydiqa: null, xquad: null}, "
    text += "conditions: {adjusted_5K: ner-after-nli, adjusted_10K: ner-after-adjusted}}}}\n"
    plan = plan_of(tmp_path, text)[0]
    names = conditions_by_size(plan.config.efimov2022.tables["table5"], plan.runs)
    assert "adjusted_5K" not in names
    assert names["adjusted_10K"] == "adjusted, 30,000 sentences (10K in the paper)"


def panels(figure, *kept):
    """A change of a figure that leaves out all panels but some."""
    names = config().efimov2022.figures[figure].panels
    return ", ".join(f"{name}: null" for name in names if name not in kept)


@pytest.mark.parametrize(
    ("text", "kept", "seeds"),
    [
        ("", ["original", "adjusted-shuffled"], [1, 2, 3, 4, 5]),
        ("seeds: [4, 3]\n", ["original"], [4, 3]),
        (
            "seeds: [3]\nruns: {adjusted-shuffled: {seeds: [1]}}\n",
            ["original", "adjusted-shuffled"],
            [1],
        ),
        (
            "seeds: [3]\nruns: {adjusted: {seeds: [9, 7]}}\n",
            ["original", "nli", "adjusted", "adjusted_nli"],
            [3, 7, 9],
        ),
    ],
)
def test_distances_have_the_seeds_of_the_models_of_their_panels(tmp_path, text, kept, seeds):
    text = f"papers: [efimov2022]\n{text}efimov2022: {{figures: {{figure1: {{panels: "
    plan = plan_of(tmp_path, f"{text}{{{panels('figure1', *kept)}}}}}}}}}\n")[0]
    (figure, *_), shown = plan.papers["efimov2022"].artifacts[0].figures, set[tuple[str, str]]()
    assert [cell.seed for cell in figure.cells()] == seeds
    for seed in seeds:
        models = plan.distance_models("efimov2022/figure1", "hi", str(seed))
        rows = zip(models["panel"], models["protocols"], strict=True)
        shown |= {(panel, protocol) for panel, protocols in rows for protocol in protocols}
        assert {*models["panel"]} > {"original"} or kept == ["original"]
    assert shown == {(panel, protocol) for panel in kept for protocol in PROTOCOLS}


def test_a_figure_without_panels_is_not_planned(tmp_path):
    text = f"efimov2022: {{figures: {{figure1: {{panels: {{{panels('figure1')}}}}}}}}}\n"
    plan = plan_of(tmp_path, text)[0]
    assert {*plan.distances} == {"efimov2022/figure2"}
    assert "efimov2022/figure1" not in plan.artifact_of


def test_a_table_without_its_condition_has_no_constant(tmp_path):
    changes = "conditions: {original: null}, against: {adjusted: null}"
    plan, _ = plan_of(tmp_path, f"efimov2022: {{tables: {{table3: {{{changes}}}}}}}\n")
    assert "efimov2022/table3" in plan.measurements
    assert "efimov2022/table3_constant" not in plan.measurements
    check_needs(plan, ["efimov2022_table3"])

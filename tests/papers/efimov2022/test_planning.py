"""Aligners that the paper's runs need and that are not installed: named before any job."""

import sys

import pytest
from configs import ROOT
from test_bad_planning import plan_of

from mbert_atlas.config.reading import with_lines
from mbert_atlas.errors import DataError
from mbert_atlas.papers.efimov2022.artifacts import conditions_by_size
from workflow.aligners import check_aligners


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

"""Records of artifacts: functions that exist, cells as parameters, paths that parse."""

from __future__ import annotations

import inspect
import re
from collections import Counter

import pytest
import yaml
from configs import LANGUAGES, ROOT

from mbert_atlas import papers
from mbert_atlas.cells import Cell, as_values, files_of, with_files
from mbert_atlas.plan.paths import PATHS
from mbert_atlas.plan.plan import Plan
from mbert_atlas.registry import resolve

PRESETS = {"demo": ["demo"], "small": ["small"], "paper": []}


@pytest.fixture(scope="module", params=PRESETS)
def plan(request: pytest.FixtureRequest) -> Plan:
    files = [ROOT / f"config/{name}.yaml" for name in PRESETS[request.param]]
    return Plan(papers.load(files, ROOT), LANGUAGES, home=ROOT)


def test_functions_exist_and_take_what_records_give_them(plan: Plan) -> None:
    for record in plan.measurements.values():
        inspect.signature(resolve(record.measure)).bind([], **record.options())
    for figure in plan.figures.values():
        also = {name: None for name in ("reported", "intervals") if getattr(figure, name)}
        inspect.signature(resolve(figure.draw)).bind([], **figure.options(), **also)
        if figure.intervals:
            assert "resamples" in figure.cells()[0].paths


def test_every_artifact_has_files_a_title_and_a_caption(plan: Plan) -> None:
    for paper, section in plan.papers.items():
        for artifact in section.artifacts:
            assert plan.targets(paper, artifact), artifact.name
            assert artifact.title, artifact.name
            for figure in artifact.figures:
                caption = plan.caption(f"{paper}/{figure.name}")
                assert "To read " in caption, figure.name  # one sentence on how to
                assert not set("*`") & set(caption), figure.name  # pages show it as it is
            for table in artifact.tables:
                for name in table.measurements:
                    assert f"{paper}/{name}" in plan.measurements


def test_every_paper_has_main_curves_of_artifacts(plan: Plan) -> None:
    """Those that the comparison of runs draws, of measurements of the paper preset."""
    for paper, section in plan.papers.items():
        assert section.curves, paper
        for curves in section.curves:
            inspect.signature(resolve(curves.points)).bind([])
            keys = {f"{paper}/{name}" for name in curves.measurements}
            if not plan.config.preset:  # others may leave out artifacts
                assert keys <= set(plan.measurements)
                assert len({plan.artifact_of[key][1].name for key in keys}) == 1


def test_every_paper_has_highlights_with_headline_claims(plan: Plan) -> None:
    shown = plan.shown("highlights/")
    found = Counter(paper for paper, _ in shown)
    assert found.keys() == plan.papers.keys()
    assert max(found.values()) <= 3
    for paper in found:
        stated = yaml.safe_load((ROOT / f"mbert_atlas/papers/{paper}/claims.yaml").read_text())
        first = {claim["artifact"] for claim in stated["claims"].values() if "headline" in claim}
        assert first & {artifact.name for other, artifact in shown if other == paper}, paper


def test_cells_return_from_parameters_with_the_files_of_the_job(plan: Plan) -> None:
    for record in (*plan.measurements.values(), *plan.figures.values()):
        cells = record.cells()
        files = files_of(cells)
        assert with_files(as_values(cells), files) == list(cells)
        with pytest.raises(ValueError, match="no cell has the file more"):
            with_files(as_values(cells), [*files, "more"])


def test_defaults_of_cells_are_left_out() -> None:
    cell = Cell(task="pos", seed=1, paths={"labels": "a", "report": "b"}, facts={"first": 3})
    assert as_values([cell]) == [
        {
            "task": "pos",
            "seed": 1,
            "paths": {"labels": "a", "report": "b"},
            "facts": {"first": 3},
        }
    ]
    assert files_of([cell, Cell(path="c")]) == ["a", "b", "c"]


def test_rules_write_the_paths_that_plans_name() -> None:
    """Every pattern of `PATHS` stands in a rule file, with one wildcard for ``paper/name``."""
    rules = "".join(file.read_text() for file in (ROOT / "workflow/rules").glob("*.smk"))
    wildcard = re.compile(r"\{\w+\}|published|corrected|train|heldout")
    written = {wildcard.sub("{}", found) for found in re.findall(r'"(<[^"]*)"', rules)}
    for kind, pattern in PATHS.items():
        named = wildcard.sub("{}", pattern)
        joined = named.replace("{}/{}.", "{}.")  # measurements, figures, tables
        assert kind == "synthetic" or written & {named, joined}, kind

"""Artifacts that a config leaves nothing to make from."""

from dataclasses import replace

import pytest
from configs import LANGUAGES, ROOT, config

from mbert_atlas.errors import DataError
from mbert_atlas.plan.behind import without_cells
from mbert_atlas.plan.plan import Plan
from workflow.needs import check_needs


def test_an_artifact_that_nothing_is_left_for_is_named_where_it_is_requested() -> None:
    plan = Plan(config(), LANGUAGES, home=ROOT)
    targets = {f"{paper}_{item.name}": (paper, item.name) for paper, item in plan.shown("")}
    assert list(without_cells(plan, targets.values())) == []
    key = next(name for name in plan.figures if name in plan.measurements)
    plan.measurements[key] = replace(plan.measurements[key], cells=list)
    paper, artifact = plan.artifact_of[key]
    target = f"{paper}_{artifact.name}"
    with pytest.raises(DataError, match=f"nothing is left to measure for .*{target}; .*restore"):
        check_needs(plan, [target])
    other = next(name for name in plan.measurements if plan.artifact_of[name][1] is not artifact)
    paper, artifact = plan.artifact_of[other]
    assert list(without_cells(plan, [(paper, artifact.name)])) == []
    reading = plan.figures[key].cells  # the measurement without cells
    plan.measurements[other] = replace(plan.measurements[other], cells=reading)
    (error,) = without_cells(plan, [(paper, artifact.name)])
    assert target in error.problem

"""Commands that pages state: those of this start, in a form that the command line accepts."""

from __future__ import annotations

import shlex
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake.cli import parse_args

from mbert_atlas.__main__ import _options
from workflow.plan import WorkflowPlan

_FILES = ["config/small.yaml", "config/mine.yaml"]


@pytest.fixture
def workflow() -> Any:
    settings = {"mirror": "/data/my mirror", "papers": ["toy2020"]}
    return SimpleNamespace(
        overwrite_configfiles=_FILES,
        config_settings=SimpleNamespace(config=settings),
        local_exec=True,
        global_resources={"_cores": SimpleNamespace(value=2)},
    )


def test_the_command_of_an_artifact_repeats_no_option(workflow: Any) -> None:
    plan = WorkflowPlan.__new__(WorkflowPlan)
    words = shlex.split(f"{plan.command(workflow)} toy2020_table1")
    assert {words.count(option) for option in ("--configfile", "--config")} == {1}
    _, options = parse_args(words[1:])
    assert [str(path) for path in options.configfile] == _FILES
    assert options.config == ['mirror="/data/my mirror"', 'papers=["toy2020"]']
    assert list(options.targets) == ["toy2020_table1"]


def test_the_command_that_explains_a_run_has_all_files(workflow: Any) -> None:
    words = ["show", "nli", *WorkflowPlan._presets(workflow)]
    assert _options(words).configfile == _FILES

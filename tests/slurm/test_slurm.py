"""The workflow on a real SLURM cluster, with the profile that users get."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from driver import CONFIG, SEED1, SEED2, TARGET, Workflow

pytestmark = [pytest.mark.slurm, pytest.mark.workflow]


@pytest.fixture(scope="module")
def workflow(cluster: dict[str, str], repository: Path) -> Iterator[Workflow]:
    workflow = Workflow(repository, cluster)
    yield workflow
    workflow.stop()


@dataclass
class _Story:
    """A run in which one job is cancelled, and the next run."""

    printed: str
    returncode: int
    left: set[str]
    printed_next: str
    returncode_next: int
    log_next: str


@pytest.fixture(scope="module")
def story(workflow: Workflow) -> _Story:
    """Everything from nothing; seed 1 is cancelled while it trains; then everything again."""
    # No retries: they would submit the cancelled job again in the same run.
    workflow.start("--retries", "0", *CONFIG, "--", TARGET)
    state = workflow.folder / "results/tiny/state/nli/seed1"
    workflow.wait_for(lambda: list(state.glob("step-*")), "a checkpoint of seed 1")
    queue = workflow.slurm("squeue", "-h", "-t", "running", "-o", "%i %k")
    (job,) = re.findall(r"^(\d+) rule_finetune_wildcards_nli_1$", queue, re.MULTILINE)
    workflow.slurm("scancel", job)
    code, printed = workflow.finish()
    left = {name for name in (SEED1, SEED2, TARGET) if (workflow.folder / name).exists()}

    code_next, printed_next = workflow.run(*CONFIG, "--", TARGET)
    log = workflow.folder / "results/tiny/logs/finetune/nli/seed1.log"
    return _Story(printed, code, left, printed_next, code_next, log.read_text())


def test_cancelled_seed_is_named(story: _Story) -> None:
    assert story.returncode != 0
    failures = re.findall(r"Error in rule (\w+):.*?output: ([^\n]*)", story.printed, re.DOTALL)
    assert [rule for rule, _ in failures] == ["finetune"], story.printed
    assert SEED1 in failures[0][1]
    assert "ended as CANCELLED" in story.printed
    assert story.left == {SEED2}, "the other seed goes on; nothing half-made stays"


def test_next_run_resumes_that_seed_only(workflow: Workflow, story: _Story) -> None:
    assert story.returncode_next == 0, story.printed_next
    assert [job.rule for job in workflow.jobs(story.printed_next)] == ["finetune"]
    done = re.findall(r"^Finished jobid: \d+ \(Rule: (\w+)\)", story.printed_next, re.MULTILINE)
    assert done == ["finetune", "measure"]
    resumed = re.search(r"resumes after step (\d+)", story.log_next)
    assert resumed is not None, story.log_next
    assert int(resumed[1]) > 0
    assert (workflow.folder / TARGET).stat().st_size > 0
    assert "Nothing to be done" in workflow.run("--dry-run", *CONFIG, "--", TARGET)[1]


def test_rules_run_where_their_gpus_are(workflow: Workflow, story: _Story) -> None:
    jobs = workflow.jobs(story.printed) + workflow.jobs(story.printed_next)
    config = yaml.safe_load((workflow.folder / "config/config.yaml").read_text())
    with_gpu = {rule for rule, asked in config["resources"].items() if asked.get("gpu")}
    rules = {job.rule for job in jobs}
    assert {"miniature", "miniature_texts_en", "encode_examples"} <= rules - with_gpu
    assert rules & with_gpu == {"pretrain", "finetune"}
    for job in jobs:
        assert (job.partition == "gpu") == (job.rule in with_gpu), job
        assert ("gres/gpu=1" in job.resources) == (job.rule in with_gpu), job
    assert "measure" not in rules, "a job of seconds went through SLURM"
    assert sorted(job.state for job in jobs if job.state != "COMPLETED") == ["CANCELLED by 0"]

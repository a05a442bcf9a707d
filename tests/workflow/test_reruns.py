"""What a change of the code reruns, shown by dry runs over empty files in place of results."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from once import once

from clone import copy_repository, snakemake, succeeded

pytestmark = pytest.mark.workflow
OPTIONS = ["--profile", "local", "--configfile", "config/demo.yaml"]
OPTIONS += ["--config", "seeds=[1]", "keep_models=false"]
TRAINING = {"pretrain", "adjust", "finetune"}
# Snakemake's own --touch, without its pause of 0.1 s for every job.
TOUCH = """
import sys
from snakemake.cli import main
from snakemake.executors.touch import Executor
Executor.SLEEPING_TIME = 0
main(sys.argv[1:])
"""


def planned(folder, *arguments):
    """The rules that would run, with the reasons why."""
    output = succeeded(snakemake(folder, "all", "-n", *OPTIONS, *arguments))
    jobs = re.findall(r"^(?:local)?rule (\w+):\n(?:    .*\n)*?    reason: (.*)$", output, re.M)
    assert jobs or "Nothing to be done" in output
    return {name: {reason for each, reason in jobs if each == name} for name, _ in jobs}


def changed(plan):
    """The rules that would run because their parameters changed."""
    return {name for name, reasons in plan.items() if any("Params" in reason for reason in reasons)}


def touch(folder, target):
    """Let Snakemake take a target as made, with all before it; temporary outputs go."""
    command = [sys.executable, "-c", TOUCH, target, "--touch", "--forceall", "--cores", "1"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    subprocess.run(
        [*command, *OPTIONS], cwd=folder, env=environment, check=True, capture_output=True
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A copy of the repository with an empty file or folder for every output of the demo."""
    made = once(tmp_path_factory, "reruns", _make_results)
    copy = tmp_path_factory.mktemp("reruns") / "repository"  # tests edit it
    return shutil.copytree(made, copy, symlinks=True)


def _make_results(folder):
    copy_repository(folder)
    output = succeeded(snakemake(folder, "all", "-n", "--forceall", *OPTIONS))
    for names in re.findall(r"^    output: (.*)$", output, re.M):
        for path in (folder / name for name in names.split(", ")):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch() if path.suffix else path.mkdir()
    touch(folder, "all")
    assert planned(folder) == {}


@pytest.fixture
def edit(results):
    """Edit the one file of the package that matches; all is as before after the test."""
    before = {}

    def change(pattern, replacement, files="mbert_atlas/**/*.py"):
        files = [path for path in results.glob(files) if path not in before]
        found = [path for path in files if re.search(pattern, path.read_text())]
        assert found, pattern
        before[found[0]] = found[0].read_text()
        found[0].write_text(re.sub(pattern, replacement, before[found[0]], count=1))

    yield change
    for path, text in before.items():
        path.write_text(text)


def test_what_comes_after_training_does_not_train_again(results, edit):
    edit(r"(def save_figure\([^)]*\)[^:]*:\n)", r"\1    print('changed')\n")
    edit(r"(?m)^(_CONTRASTS = \[)", r'\1\n    ("table1", "fine_tuned", "initial"),')
    edit(r'(class Adjustment\([^$]*?description=")', r"\1Changed. ")
    edit(r"(?m)^class CrossEntropy\b", "def unused():\n    return 1\n\n\nclass CrossEntropy")
    plan = planned(results)
    assert {"render_figure", "render_table", "scorecard"} <= changed(plan)
    assert not TRAINING & plan.keys()


def test_a_claim_reruns_pages_alone(results, edit):
    edit(r"(?m)^    claim: ", r"    claim: Changed. ", "mbert_atlas/papers/*/claims.yaml")
    plan = planned(results)
    assert changed(plan) == {"judge_claims"}
    pages = {"judge_claims", "write_replication", "write_index", "write_crate"}
    assert plan.keys() == {*pages, "all"}


def test_the_measure_reruns_its_user_and_encodes_nothing_again(results, edit):
    edit(r"(def cluster_agreement\([^)]*\)[^:]*:\n)", r"\1    print('changed')\n")
    plan = planned(results)
    assert changed(plan) == {"cluster_points"}
    assert not {"extract_features", *TRAINING} & plan.keys()


def test_the_loss_reruns_its_users(results, edit):
    edit(r'(class CrossEntropy\b[^$]*?reduction=)"sum"', r'\1"mean"')
    plan = planned(results)
    # Static vectors' predictions are put into words by the task, which counts whole.
    assert changed(plan) == {"finetune", "classify_with_static_vectors", "finetune_unsaved"}
    # What they start from has gone with its last reader.
    assert TRAINING & plan.keys() == {"adjust", "finetune"}


def test_another_command_for_the_same_reruns_nothing(results):
    """Provenance has the command; a dry run on a cluster would have another one than the run."""
    assert planned(results, "run=demo") == {}


def test_weights_that_are_gone_rerun_nothing_until_they_are_read(results):
    """`all` has removed them; single targets leave them, as others may read them."""
    assert not list(results.glob("results/demo/runs/*/*/model"))
    distances = min((results / "results/demo/distances").rglob("seed1.parquet"))
    reader = str(distances.relative_to(results))
    assert "adjust" in planned(results, "--forcerun", reader)
    models = [path / "model" for path in results.glob("results/demo/runs/*/seed1")]
    for path in models:
        path.mkdir()
    try:
        touch(results, reader)
        assert all(path.exists() for path in models)
    finally:
        for path in models:
            shutil.rmtree(path)  # with Snakemake's mark of the time
        touch(results, "all")  # as before: tests may run in any order

"""Every preset and every target plans; bad configs end in one sentence before anything starts."""

import math
import re
import subprocess
import sys

import pytest

from clone import DEMO, ROOT, jobs, python, snakemake, trained
from mbert_atlas.papers import names
from workflow.graph import reduced

pytestmark = pytest.mark.workflow


def test_all_of_small_plans(repository):
    """Everything at paper scale is planned by test_docs.py."""
    small = ["--configfile", "config/small.yaml", "--profile", "local"]
    planned = jobs(snakemake(repository, "all", "-n", "--forceall", *small))
    assert planned["scorecard"] == planned["cost"] == 1
    of_each_paper = {"adjust", "project_points", "collect_vectors", "translate_tokens"}
    assert {*of_each_paper, "measure_similarity"} <= planned.keys()


def test_targets_of_the_demo_share_their_jobs(repository):
    """Each paper's target and `fetch` plan; highlights are a part of all, with separate pages."""
    part, everything, both = (
        jobs(snakemake(repository, *targets, "-n", "--forceall", *DEMO))
        for targets in (["highlights"], ["all"], ["highlights", "all", "fetch", *names()])
    )
    assert trained(part) <= trained(everything) / 2
    assert "scorecard" not in part
    assert trained(both) == trained(everything)
    assert both["judge_claims"] == both["write_index"] == 2
    assert "fetch_file" not in both


def test_a_bad_claim_ends_in_one_sentence(repository):
    name = f"mbert_atlas/papers/{names()[0]}/claims.yaml"
    path = repository / name
    before = path.read_text()
    try:
        path.write_text(re.sub(r"(?m)^    artifact: .*$", "    artifact: table99", before, count=1))
        done = snakemake(repository, "all", "-n", *DEMO)
    finally:
        path.write_text(before)
    assert done.returncode != 0
    output = done.stderr + done.stdout
    assert re.search(rf"{name}, line \d+, key claims\.\S+\.artifact: 'table99' is not", output)
    assert "Traceback" not in output


def test_a_mistake_is_found_in_the_preset_and_not_in_the_file_below(repository, tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text("run: mine\nseeds: [1, 1]\n")
    done = snakemake(repository, "all", "-n", *DEMO, str(mine))
    assert done.returncode != 0
    assert f"{mine}, line 2, key seeds: the same twice: 1" in done.stderr + done.stdout


NIGHT = ["--configfile", "config/small.yaml", "config/night.yaml"]


@pytest.mark.parametrize("preset", [DEMO, NIGHT], ids=["demo", "night"])
@pytest.mark.parametrize("paper", names())
def test_a_paper_plans_without_the_others(repository, paper, preset):
    """Its runs, and none of the others; the shared rules register nothing of theirs."""
    planned = snakemake(
        repository, "all", "-n", "--forceall", *preset, "--config", f"papers=[{paper}]"
    )
    assert jobs(planned)["scorecard"] == 1
    assert not [other for other in names() if other != paper and other in planned.stdout]


def test_translations_are_read_only_where_the_embeddings_begin_with_them(repository, tmp_path):
    model, trained = "results/demo/encoders/mbert/model", ("--config", "use_shipped=false")
    aligned = jobs(snakemake(repository, model, "-n", "--forceall", *DEMO, *trained))
    mine = tmp_path / "mine.yaml"
    mine.write_text("encoders: {mbert: {scratch: {aligned_start: null}}}\n")
    plain = jobs(snakemake(repository, model, "-n", "--forceall", *DEMO, str(mine), *trained))
    assert not {"start_embeddings", "read_corpus_by_language_large", "miniature"} & plain.keys()
    assert aligned["start_embeddings"] == 1
    assert aligned["read_corpus_by_language_large"] == 12
    more = {"start_embeddings", "read_corpus_by_language_large", "miniature", "total"}
    assert {name for name in aligned if aligned[name] != plain.get(name)} == more


def test_the_graph_of_the_docs_is_that_of_the_rules(tmp_path):
    done = python(ROOT, "-m", "workflow.graph", str(tmp_path / "rules.md"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "rules.md").read_text() == (ROOT / "docs/rules.md").read_text()


def test_what_follows_from_other_edges_is_left_out():
    chain = {("a", "b"), ("b", "c"), ("a", "c"), ("a", "a")}
    assert reduced(chain) == [("a", "b"), ("b", "c")]
    loop = {("a", "b"), ("b", "a"), ("b", "c"), ("a", "c")}
    assert reduced(loop) == [("a", "b"), ("b", "a"), ("b", "c")]


def test_rule_files_do_not_share_names():
    """They are included into one namespace, where the last definition would win."""
    defined = [
        name
        for path in (ROOT / "workflow/rules").glob("*.smk")
        for name in set(re.findall(r"^(?:def )?(\w+)(?:\(.*\):| = )", path.read_text(), re.M))
    ]
    assert sorted(defined) == sorted(set(defined))


_EXPECTED = """
from workflow import dryrun, predict
with dryrun.planned(["highlights"], ["config/demo.yaml"], {"run": "new"}, cores=8) as workflow:
    expected = predict.expected_seconds(workflow)
    assert expected.keys() == {*workflow.dag.needrun_jobs(exclude_finished=False)}
    assert predict.expected_seconds(workflow) is expected  # computed once
print(*expected.values())
"""


def test_every_job_has_an_expected_time():
    """The terminal's progress and the first time limits on SLURM rest on it."""
    command = [sys.executable, "-c", _EXPECTED]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    seconds = list(map(float, done.stdout.split()))
    assert len({*seconds}) > 20, done.stderr
    assert all(0 < number < math.inf for number in seconds)

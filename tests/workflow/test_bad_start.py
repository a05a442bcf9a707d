"""Starts that cannot be meant: one sentence, a failure, no traceback, nothing written."""

import json
import re
import shutil
from pathlib import Path

import pytest

from clone import DEMO, failed, python, snakemake, succeeded
from mbert_atlas.papers import names
from mbert_atlas.sources.mirror import write_manifest
from mbert_atlas.sources.register import Register

pytestmark = pytest.mark.workflow


@pytest.mark.parametrize(
    ("arguments", "sentences"),
    [
        (
            ["all", *DEMO, "--configfile", "config/small.yaml", "--cores", "1"],
            ["--configfile is given twice", "write it once"],
        ),
        (
            ["all", *DEMO, "--config", "run=a", "--config", "offline=true", "--cores", "1"],
            ["--config is given twice"],
        ),
        (["all", *DEMO, "--cores", "0"], ["--cores 0 leaves no core", "--cores 1"]),
        (["fetsh", *DEMO, "--cores", "1"], ["Nothing makes 'fetsh'", "did you mean fetch?"]),
        (
            [f"{names()[1]}_figure1", *DEMO, "--config", f"papers=[{names()[0]}]", "--cores", "1"],
            [f"Nothing makes '{names()[1]}_figure1'; add {names()[1]} to the key `papers`"],
        ),
        (["finetune", *DEMO, "--cores", "1"], ["makes one file of many", "seed{seed}"]),
        (
            ["results/demo/runs/none/seed9/x.parquet", *DEMO, "--cores", "1"],
            ["Nothing makes", "seed9"],
        ),
        (
            ["all", *DEMO, "--config", "offline=no", "--cores", "1"],
            ["--config, key offline", "no is read as false", "write false"],
        ),
        (
            ["all", *DEMO, "--config", "papers=[nobody2020]", "--cores", "1"],
            ["key papers", "'nobody2020' is not defined"],
        ),
        (
            ["all", *DEMO, "--config", "mirror=/no/such/folder", "--cores", "1"],
            ["key mirror", "there is no folder /no/such/folder", "correct the path"],
        ),
    ],
)
def test_a_start_that_cannot_be_meant(repository, arguments, sentences):
    before = set(repository.rglob("*"))
    output = failed(snakemake(repository, *arguments, timeout=600))
    assert any(all(part in line for part in sentences) for line in output.splitlines()), output
    new = {path for path in set(repository.rglob("*")) - before if ".snakemake" not in path.parts}
    assert {path for path in new if "__pycache__" not in path.parts} == set()


def test_files_of_runs_that_are_not_planned(repository, tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text("runs: {nli-mine: {like: nli, seeds: [9]}, nli.v2: {like: nli}}\n")
    files = ["--configfile", "config/demo.yaml", str(mine)]
    for run, sentence in (
        ("nli-mine/seed1", "the run 'nli-mine' has the seed 9."),
        ("nli/seed9", "the run 'nli' has the seeds 1, 2."),
        ("nli.v2/seed1", "'nli.v2' has the same settings as the run 'nli', and is that run."),
        ("nil/seed1", "there is no run 'nil'; did you mean"),
    ):
        target = f"results/demo/runs/{run}/predictions.parquet"
        output = failed(snakemake(repository, target, *files, "-n", timeout=600))
        assert f"Nothing makes {target!r}; {sentence}" in output


def test_a_program_that_plans_ends_with_the_sentence(repository):
    words = ["-m", "workflow.predict", *DEMO, "--config", "mirror=/no/such/folder"]
    done = python(repository, *words)
    assert done.returncode == 1
    sentence = "--config, key mirror: there is no folder /no/such/folder; correct the path."
    assert done.stderr == f"{sentence}\n"


def test_a_program_that_plans_names_a_target_that_nothing_makes(repository):
    done = python(repository, "-m", "workflow.predict", "fetsh", *DEMO)
    assert (done.returncode, done.stderr) == (1, "Nothing makes 'fetsh'; did you mean fetch?\n")


def test_another_folder_is_named(repository, tmp_path):
    arguments = ["all", "-n", "--snakefile", str(repository / "Snakefile")]
    done = snakemake(repository, *arguments, "--directory", str(tmp_path), timeout=600)
    assert "start Snakemake in the folder of the repository" in failed(done)


@pytest.mark.parametrize(
    ("offline", "sentence"),
    [
        ("true", r"\d+ needed files are missing and offline is set;.*:\n(    .*\n)+    .*xquad"),
        ("false", r"\d+ downloads, about [\d.]+ GB, .*:\n.*MB\)"),
    ],
)
def test_a_dry_run_names_the_downloads(repository, tmp_path, offline, sentence):
    mine = tmp_path / "mine.yaml"
    mine.write_text(f"offline: {offline}\ndownloads: {tmp_path}\ncomparable: false\n")
    target = "results/paper/data/xquad.parquet"
    done = snakemake(repository, target, "-n", "--configfile", str(mine), timeout=600)
    assert re.search(sentence, succeeded(done))


def test_a_dry_run_names_what_the_mirror_has_and_changed_inputs(repository, tmp_path):
    mirror, mine = tmp_path / "mirror", tmp_path / "mine.yaml"
    (mirror / "mine").mkdir(parents=True)
    for name in ("a", "b"):
        answers = [{"text": "cat", "answer_start": 4}]
        question = {"id": name, "question": "Who?", "answers": answers}
        paragraph = {"context": "The cat sleeps.", "qas": [question]}
        data = {"data": [{"title": name, "paragraphs": [paragraph]}]}
        (mirror / f"mine/{name}.json").write_text(json.dumps(data))
    write_manifest(mirror, Register.read(repository / "resources/sources.yaml"))
    text = f"run: {tmp_path.name}\nmirror: {mirror}\ncomparable: false\n"
    text += "datasets:\n  squad-train: {files: mine/a.json}\n"
    mine.write_text(text)
    (target,) = arguments = [f"results/{tmp_path.name}/data/squad-train.parquet"]
    arguments += ["--configfile", str(mine), "--cores", "1"]
    planned = succeeded(snakemake(repository, *arguments, "-n", timeout=600))
    assert f"1 file would be copied from the mirror {mirror}." in planned
    assert "MB)" not in planned
    succeeded(snakemake(repository, *arguments, timeout=600))
    mine.write_text(text.replace("a.json", "b.json"))
    planned = succeeded(snakemake(repository, *arguments, "-n", timeout=600))
    assert re.search(r"Changed input of 1 job: \S*/mine/a.json -> \S*/mine/b.json", planned)
    shutil.rmtree(repository / Path(target).parents[1])


def test_predict_never_makes_its_targets(repository):
    target = "results/demo/data/xnli.parquet"
    output = succeeded(snakemake(repository, "predict", target, *DEMO, "-n", timeout=600))
    assert "rule predict:" in output
    assert re.search(r"total +1\n", output)


def test_predict_takes_a_target(repository):
    target = "results/demo/data/xnli.parquet"
    done = snakemake(repository, "predict", target, *DEMO, "--cores", "1", timeout=600)
    assert re.search(r"read_corpus.nli", succeeded(done))
    assert not (repository / target).exists()

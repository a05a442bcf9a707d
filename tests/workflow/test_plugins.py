"""The toy corpus, task and method of CONTRIBUTING.md: new files and a line each; no run changes."""

import re

import pytest

from clone import ROOT, copy_repository, said, snakemake, succeeded
from mbert_atlas import papers
from mbert_atlas.files import read_parquet
from mbert_atlas.plan.runs import RunTable
from mbert_atlas.sources.mirror import write_manifest
from mbert_atlas.sources.register import Register
from snippets import commands_in, files_in
from test_reruns import OPTIONS, TRAINING, changed, edit, planned, results

pytestmark = pytest.mark.workflow
__all__ = ["edit", "results"]  # fixtures
ALL = files_in("CONTRIBUTING.md")
FILES = {path: text for path, text in ALL.items() if re.search("topic|head_decay|contrast", path)}
LINES = {path[4:]: text for path, text in ALL.items() if path.startswith("add:")}


def add_plugins(folder):
    """Add the files, and each line to its registry."""
    for path, text in FILES.items():
        assert not (folder / path).exists()
        (folder / path).write_text(text)
    for path, line in LINES.items():
        assert line.count("\n") == 1
        text, count = re.subn(r"(Registry\(\n    \{\n)", rf"\1{line}", (folder / path).read_text())
        assert count == 1, path
        (folder / path).write_text(text)


def test_the_snippets_are_there():
    assert len(FILES) == 8
    assert len(LINES) == 5


def test_adding_them_reruns_nothing(results):
    before = {path: (results / path).read_text() for path in LINES}
    add_plugins(results)
    try:
        assert planned(results) == {}
    finally:
        for path in FILES:
            (results / path).unlink()
        for path, text in before.items():
            (results / path).write_text(text)


def test_the_loss_of_a_method_reruns_its_users_alone(results, edit):
    edit(
        r"(class LanguageUnlearning\(Method\):\n    \"\"\"[^$]*?\"\"\"\n)",
        r"\1    changed = True\n",
    )
    output = said(snakemake(results, "all", "-n", *OPTIONS))
    job = r"^rule finetune\w*:\n(?:    .*\n)*?    wildcards: run=([^,]+)"
    reran = set(re.findall(job, output, re.M))
    runs = RunTable(papers.load([ROOT / "config/demo.yaml"], ROOT))
    users = {run.id for run in runs if "confusion" in run.specification["hyperparameters"]}
    assert users
    assert reran == users
    assert changed(planned(results)) & TRAINING <= {"finetune", "finetune_unsaved"}


def test_they_work_together(tmp_path):
    folder = copy_repository(tmp_path / "repository")
    add_plugins(folder)
    mine = folder / "my-mirror/mine"
    mine.mkdir(parents=True)
    for name, count in (("train.en", 40), ("test.en", 10), ("test.de", 10)):
        words = [" house" * n for n in range(count)]
        texts = [f"sport\tball{some} play\nmoney\tbank{some} pay\n" for some in words]
        (mine / f"topics-{name}.tsv").write_text("".join(texts))
    write_manifest(folder / "my-mirror", Register.read(ROOT / "resources/sources.yaml"))
    (command,) = [line for line in commands_in("CONTRIBUTING.md") if "config/topics.yaml" in line]
    succeeded(snakemake(folder, *command.split()[1:], timeout=300))
    frame = read_parquet(folder / command.split()[-1]).to_pandas()
    assert len(frame) == 40
    assert (frame.gold == frame.prediction).mean() > 0.9
    assert set(frame.language) == {"en", "de"}

"""A task and a method of one's own are new files and one line each, and rerun nothing else."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from configs import ROOT

DUMP = """
import json, sys
from pathlib import Path
from mbert_atlas import papers
from mbert_atlas.fingerprint import Fingerprints
from mbert_atlas.plan.runs import RunTable

files, code = [Path(name) for name in sys.argv[1:]], Fingerprints(Path.cwd())
roots = lambda run: [f"mbert_atlas.{root}" for root in run.code]
print(json.dumps({
    run.id: [run.specification, code.of("workflow/scripts/finetune.py", *roots(run))]
    for run in RunTable(papers.load(files, Path())) if run.kind == "finetuning"
}))
"""
NEW = {
    "mbert_atlas/config/tasks/toy.py": '''
from typing import Literal

from pydantic import Field

from mbert_atlas.config.encodings import ExampleEncoding
from mbert_atlas.config.training import HeadOptions


class ToyHead(HeadOptions):
    """The head of a toy."""

    bumps: int = Field(3, description="toy: bumps of the head.")


class ToyEncoding(ExampleEncoding):
    """How toys become token ids."""

    corpus, head = "nli", ToyHead
    task: Literal["toy"] = Field(description="Toys.")
    wheels: int = Field(4, description="Wheels of a toy.")
''',
    "mbert_atlas/config/methods/shake.py": '''
from pydantic import Field

from mbert_atlas.config.method import MethodOptions


class Shake(MethodOptions):
    """The toy is shaken."""

    strength: float = Field(1.0, description="How much.")

    def inputs(self, run, files):
        return {"shaken": files.examples(run, "multinli")}
''',
    "mbert_atlas/encoding/toy.py": """
from mbert_atlas.encoding.stores import TaskEncoding

TOY = TaskEncoding(lambda *examples, **options: print("encoded"), lambda table, languages: ["car"])
""",
    "mbert_atlas/tasks/toy.py": """
from mbert_atlas.config.tasks.toy import ToyHead
from mbert_atlas.tasks.nli import NLI


class Toy(NLI):
    name, head_options = "toy", ToyHead
""",
    "mbert_atlas/training/methods/shake.py": """
from mbert_atlas.config.methods.shake import Shake
from mbert_atlas.training.method import Method


class Shaking(Method):
    def __init__(self, options, path):
        self.fingerprint = f"shake {options.strength} {path}"

    @classmethod
    def of_run(cls, options, specification, inputs):
        return cls(Shake(**options), inputs["shaken"])
""",
    "toys.yaml": """
encodings: {toys: {task: toy, wheels: 3}}
runs:
  toys:
    {kind: finetuning, paper: mine, encoder: mbert, encoding: toys, train: multinli,
    evaluate: {xnli: [en]}, published: {head: {bumps: 2}, shake: {strength: 2.0}}}
""",
}
LINES = {
    "mbert_atlas/encoding/__init__.py": ('        "text":', '        "toy": "encoding.toy:TOY",\n'),
    "mbert_atlas/tasks/__init__.py": ('        "tagging":', '        "toy": "tasks.toy:Toy",\n'),
    "mbert_atlas/training/methods/__init__.py": (
        '        "subspace":',
        '        "shake": "training.methods.shake:Shaking",\n',
    ),
}
USE = """
from mbert_atlas import tasks
from mbert_atlas.encoding import encode, labels_of
from mbert_atlas.training.methods import methods_of

encode("toy", None, "", "", wheels=3)
(method,) = methods_of({"shake": {"strength": 2.0}}, {}, {"shaken": "x"})
print(labels_of("toy", None, []), tasks.get("toy").head_options(bumps=2).bumps, method.fingerprint)
"""


def run(folder: Path, code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the tree, and specification and code of the demo's runs in it."""
    folder = tmp_path_factory.mktemp("tree")
    for name in ("mbert_atlas", "workflow/scripts", "config", "resources/reported"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "resources/languages.csv", folder / "resources")
    return folder, json.loads(run(folder, DUMP, "config/demo.yaml"))


def test_a_new_task_and_a_new_method_rerun_nothing(tree, tmp_path):
    folder, before = shutil.copytree(tree[0], tmp_path / "new"), tree[1]
    for name, content in NEW.items():
        (folder / name).write_text(content)
    for name, (marker, line) in LINES.items():
        replace(folder / name, marker, line + marker)
    after = json.loads(run(folder, DUMP, "config/demo.yaml", "toys.yaml"))
    specification, code = after.pop("toys")
    assert after == before
    assert code not in {code for _, code in before.values()}
    assert specification["encoding"]["wheels"] == 3
    hyperparameters = specification["hyperparameters"]
    assert hyperparameters["head"] == {"dropout": 0.1, "bumps": 2}
    assert hyperparameters["shake"] == {"strength": 2.0}
    assert run(folder, USE) == "encoded\n['car'] 2 shake 2.0 x\n"


def test_a_changed_loss_of_a_method_reruns_its_users(tree, tmp_path):
    folder, before = shutil.copytree(tree[0], tmp_path / "changed"), tree[1]
    path = folder / "mbert_atlas/training/methods/confusion.py"
    replace(path, "return -ctx.factor * gradients[0], None", "return -gradients[0], None")
    after = json.loads(run(folder, DUMP, "config/demo.yaml"))
    changed = {name for name in before if before[name] != after[name]}
    users = {name for name, (spec, _) in before.items() if "confusion" in spec["hyperparameters"]}
    assert changed == users != set()

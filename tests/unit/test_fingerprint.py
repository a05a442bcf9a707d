"""The code fingerprint follows names; words about the code and neighbours do not count."""

import inspect
import re
import runpy
import sys
from importlib import import_module
from pathlib import Path

import pytest
from tiny_models import make_encoder, make_tokenizer, sentence_table

from mbert_atlas.files import write_parquet
from mbert_atlas.fingerprint import Fingerprints

ROOT = Path(__file__).parents[2]
SCRIPT, MAIN = "workflow/scripts/paper.py", "workflow.scripts.paper:"
TREE = {
    SCRIPT: """
from workflow.job import set_up
from workflow.shared import tool

with set_up(snakemake):
    from mbert_atlas import losses
    from mbert_atlas.entries import get
    import mbert_atlas.text.lines as lines
    tool(), losses.mean(), get("a"), lines.split("x")
""",
    "workflow/job.py": "def set_up(snakemake): pass",
    "workflow/shared.py": "from mbert_atlas.tools import made as tool",
    "mbert_atlas/__init__.py": "",
    "mbert_atlas/tools.py": "from functools import reduce as fold\ndef made(): return fold",
    "mbert_atlas/losses.py": '''
"""About losses."""
from __future__ import annotations
import os
from typing import TYPE_CHECKING
from mbert_atlas.errors import Wrong
from mbert_atlas.marks import mark
from mbert_atlas.types_only import Kind
if TYPE_CHECKING:
    from mbert_atlas.never import Never

SCALE, UNUSED = 2, 3
LIMITS: dict[str, int] = {}
LIMITS["a"] = 1
try:
    FAST = 1
except ImportError:
    FAST = 2

@mark(SCALE)
def mean(kind: Kind = None, weight=FAST) -> Never:
    """Return it."""
    count: Kind = LIMITS  # a comment
    if count:
        raise Wrong("message")
    return _inner()

def _inner():
    def nested():
        from mbert_atlas.nested import value
        return value
    return nested

def neighbour():
    return 0
''',
    "mbert_atlas/errors.py": "class Wrong(Exception): pass",
    "mbert_atlas/marks.py": "def mark(x): return lambda f: f\ndef other(): return 1",
    "mbert_atlas/types_only.py": "import os\nclass Kind: size = 1\nos.environ['A'] = 'b'",
    "mbert_atlas/never.py": "class Never: size = 1\nprint('never')",
    "mbert_atlas/nested.py": "value = 1",
    "mbert_atlas/entries/__init__.py": """
from importlib import import_module
from jinja2 import PackageLoader
from mbert_atlas.entries.listed import ENTRIES as KNOWN
MODULE = "mbert_atlas.named"
def get(name):
    import_module(f"{__name__}.plugins.{name}.claims")
    return KNOWN[name], PackageLoader(MODULE)
""",
    "mbert_atlas/entries/listed.py": """
from pydantic import BaseModel, Field
from mbert_atlas.values import Value
from mbert_atlas.entries.base import Base
class Entry(Base):
    value: list[Value] = Field(1, gt=0, description="words")
    def run(self): return 1
ENTRIES = {"a": Entry}
""",
    "mbert_atlas/entries/base.py": "class Base:\n    def run(self): return 0",
    "mbert_atlas/values.py": "class Value: size = 1",
    "mbert_atlas/entries/plugins/one/claims.py": "CLAIM = 1",
    "mbert_atlas/entries/plugins/one/figures.py": "FIGURE = 1",
    "mbert_atlas/named.py": "VALUE = 1",
    "mbert_atlas/text/__init__.py": "import mbert_atlas.text.extra\n",
    "mbert_atlas/text/extra.py": """
def extra(): return 1
extra()
def unused(): return 1
""",
    "mbert_atlas/text/lines.py": "def split(x): return x\ndef join(x): return [x]",
}
JOBS = [
    f"{'.'.join(path.relative_to(ROOT).with_suffix('').parts)}:"
    for path in (ROOT / "workflow/scripts").rglob("*.py")
]
COUNTS = {
    "script": (SCRIPT, 'get("a")', 'get("b")'),
    "module of the workflow": ("workflow/shared.py", "made as tool", "mark as tool"),
    "import of another package": ("mbert_atlas/tools.py", "import reduce", "import partial"),
    "constant": ("mbert_atlas/losses.py", "SCALE, UNUSED = 2", "SCALE, UNUSED = 4"),
    "item of a constant": ("mbert_atlas/losses.py", 'LIMITS["a"] = 1', 'LIMITS["a"] = 2'),
    "constant in a try block": ("mbert_atlas/losses.py", "FAST = 2", "FAST = 3"),
    "decorator": ("mbert_atlas/marks.py", "lambda f: f", "lambda f: None"),
    "default": ("mbert_atlas/losses.py", "weight=FAST", "weight=SCALE"),
    "error": ("mbert_atlas/losses.py", '"message"', '"another"'),
    "function that is called": ("mbert_atlas/losses.py", "return nested\n", "return nested()\n"),
    "import inside a function": ("mbert_atlas/nested.py", "value = 1", "value = 2"),
    "call on import": ("mbert_atlas/text/extra.py", "extra(): return 1", "extra(): return 2"),
    "effect of an import": ("mbert_atlas/types_only.py", "'b'", "'c'"),
    "entry of a registry": ("mbert_atlas/entries/listed.py", "return 1", "return 2"),
    "base class": ("mbert_atlas/entries/base.py", "return 0", "return 2"),
    "annotation in a class": ("mbert_atlas/values.py", "size = 1", "size = 2"),
    "field": ("mbert_atlas/entries/listed.py", "gt=0", "gt=1"),
    "re-export": ("mbert_atlas/entries/__init__.py", "ENTRIES as KNOWN", "Entry as KNOWN"),
    "dynamic import": ("mbert_atlas/entries/plugins/one/claims.py", "= 1", "= 2"),
    "string that names a module": ("mbert_atlas/named.py", "VALUE = 1", "VALUE = 2"),
    "attribute of a module": ("mbert_atlas/text/lines.py", "return x", "return (x,)"),
}
DOES_NOT_COUNT = {
    "how jobs are set up": ("workflow/job.py", "pass", "..."),
    "neighbour of an attribute": ("mbert_atlas/text/lines.py", "return [x]", "return x"),
    "neighbour": ("mbert_atlas/losses.py", "return 0", "return 9"),
    "neighbour of a decorator": ("mbert_atlas/marks.py", "return 1", "return 9"),
    "neighbour of an effect": ("mbert_atlas/text/extra.py", "unused(): return 1", "unused(): ..."),
    "comment": ("mbert_atlas/losses.py", "# a comment", "# another"),
    "docstring": ("mbert_atlas/losses.py", "Return it.", "Return that."),
    "formatting": ("mbert_atlas/losses.py", "_inner():\n", "_inner(\n):\n\n"),
    "type": ("mbert_atlas/types_only.py", "size = 1", "size = 2"),
    "annotation of a function": ("mbert_atlas/losses.py", "-> Never", "-> int"),
    "annotation of a variable": ("mbert_atlas/losses.py", "count: Kind", "count: int"),
    "import for types": ("mbert_atlas/never.py", "'never'", "'ever'"),
    "how errors are reported": ("mbert_atlas/errors.py", "pass", "reported = 1"),
    "description of a field": ("mbert_atlas/entries/listed.py", '"words"', '"more words"'),
    "sibling of a dynamic import": ("mbert_atlas/entries/plugins/one/figures.py", "= 1", "= 2"),
}  # fmt: skip


def write(root, changed=()):
    for name, content in {**TREE, **dict(changed)}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    root = write(tmp_path_factory.mktemp("before"))
    return Fingerprints(root).of(MAIN)


@pytest.mark.parametrize("what", [*COUNTS, *DOES_NOT_COUNT])
def test_what_counts(before, tmp_path, what):
    path, old, new = {**COUNTS, **DOES_NOT_COUNT}[what]
    assert TREE[path].count(old) == 1
    write(tmp_path, {path: TREE[path].replace(old, new)})
    assert (Fingerprints(tmp_path).of(MAIN) != before) == (what in COUNTS)


def test_two_imports_that_change_places_count(tmp_path):
    values = set()
    for names in ("one as a, two as b", "two as a, one as b"):
        root = tmp_path / names[:3]
        functions = "def one(): return 1\ndef two(): return 2"
        use = f"from mbert_atlas.both import {names}\ndef use(): return a() - b()"
        more = {"mbert_atlas/both.py": functions, "mbert_atlas/use.py": use}
        write(root, {**more, SCRIPT: "from mbert_atlas.use import use\nuse()"})
        values.add(Fingerprints(root).of(MAIN))
    assert len(values) == 2


@pytest.mark.parametrize(
    "root",
    [
        "workflow.scripts.another:",
        "mbert_atlas.losses:x",
        "mbert_atlas.losses:SCALE[x]",
    ],
)
def test_a_root_that_does_not_exist(tmp_path, root):
    with pytest.raises(LookupError):
        Fingerprints(write(tmp_path)).of(MAIN, root)


def test_a_module_as_an_object_counts_whole_with_the_files_of_its_package(tmp_path):
    script = "from mbert_atlas import pages\nprint(getattr(pages, 'x'))"
    package = {"mbert_atlas/pages/__init__.py": "x, y = 1, 2", "mbert_atlas/pages/a.html": "<p>"}
    write(tmp_path / "a", {**package, SCRIPT: script})
    write(tmp_path / "b", {**package, SCRIPT: script, "mbert_atlas/pages/a.html": "<br>"})
    assert "mbert_atlas.pages:y" in Fingerprints(tmp_path / "a").explain(MAIN)
    one, other = (Fingerprints(tmp_path / name).of(MAIN) for name in "ab")
    assert one != other


LOSSES = {
    "mbert_atlas/kinds.py": """
from mbert_atlas.registry import Registry
KINDS = Registry({"mean": "losses:mean", "value": "nested:value", "kind": "kinds:Kind"})
class Kind: size = 1
""",
    "mbert_atlas/registry.py": "class Registry: pass",
    SCRIPT: "from mbert_atlas.kinds import KINDS\nKINDS.load(input())",
}


def test_a_root_selects_entries_of_a_registry(tmp_path):
    roots = {
        "all": [MAIN],
        "mean": [MAIN, "mbert_atlas.kinds:KINDS[mean]"],
        "value": [MAIN, "mbert_atlas.kinds:KINDS[value]"],
        "none": [MAIN, "mbert_atlas.kinds:KINDS[]"],
        "class": ["mbert_atlas.kinds:Kind"],
    }

    def values(name, changed):
        code = Fingerprints(write(tmp_path / name, LOSSES | changed))
        return {key: code.of(*some) for key, some in roots.items()}

    before = values("before", {})
    assert len(set(before.values())) == 5
    for name, path, old, new, changing in [
        ("entry", "mbert_atlas/losses.py", "return nested\n", "return 1\n", {"all", "mean"}),
        ("class", "mbert_atlas/kinds.py", "size = 1", "size = 2", {"all", "class"}),
        ("another", "mbert_atlas/kinds.py", '{"mean"', '{"x": "values:Value", "mean"', {"all"}),
        ("moved", "mbert_atlas/kinds.py", "nested:value", "values:Value", {"all", "value"}),
        ("loading", "mbert_atlas/registry.py", "pass", "size = 1", set()),
    ]:
        content = (TREE | LOSSES)[path]
        assert content.count(old) == 1
        after = values(name, {path: content.replace(old, new)})
        assert {key for key in roots if after[key] != before[key]} == changing, name


def test_every_job_of_the_workflow_has_a_different_fingerprint():
    code = Fingerprints()
    values = [code.of(root) for root in JOBS]
    assert len(values) > 40
    assert len(set(values)) == len(values)
    assert all(len(value) == 16 for value in values)


def test_what_an_import_by_a_variable_can_mean_is_all(tmp_path):
    script = "from importlib import import_module\nimport_module(input())"
    write(tmp_path, {SCRIPT: script})
    assert "mbert_atlas.losses:neighbour" in Fingerprints(tmp_path).explain(MAIN)


def test_the_package_has_nothing_that_cannot_be_followed():
    names = r"(?<!\.)\b(globals|locals|exec|eval)\("
    names += r"|get_type_hints|singledispatch|validate_call|computed_field|(field|model)_serializer"
    names += r"|__subclasses__|__init_subclass__"
    names += r"|^@(?!cache|contextmanager|dataclass|lru_cache|torch)"  # they may register
    for path in (ROOT / "mbert_atlas").rglob("*.py"):
        found = re.search(names, path.read_text(), re.MULTILINE)
        assert found is None or path.stem == "fingerprint", f"{path}: {found[0]}"


FINETUNE = """
from mbert_atlas.config.training import Optimisation
from mbert_atlas.encoding import encode
from mbert_atlas.files import read_parquet
from mbert_atlas.training.finetune import finetune
from mbert_atlas.training.job import FinetuningJob

def main(folder):
    table = read_parquet(folder / "sentences.parquet")
    encode("tagging", table, folder / "encoder", folder / "train", labels=["DET", "NOUN"])
    job = FinetuningJob(task="tagging", encoder=folder / "encoder", train=folder / "train",
        evaluate={"ud": folder / "train"}, optimisation=Optimisation(batch_size=2, epochs=1),
        seed=1, output_model=folder / "model", output_predictions=folder / "predictions.parquet",
        state_dir=folder / "state")
    finetune(job)
"""


ROOTS = [
    "mbert_atlas.encoding:ENCODINGS[tagging]",
    "mbert_atlas.tasks:TASKS[tagging]",
    "mbert_atlas.training.methods:METHODS[]",
]


def test_what_runs_is_what_counts(tmp_path):
    make_encoder(tmp_path, make_tokenizer(tmp_path))
    table = sentence_table([["the", "cat"]] * 4, [["DET", "NOUN"]] * 4)
    write_parquet(table, tmp_path / "sentences.parquet")
    (tmp_path / "workflow").mkdir()
    (tmp_path / "workflow/script.py").write_text(FINETUNE)
    (tmp_path / "mbert_atlas").symlink_to(ROOT / "mbert_atlas")
    main = runpy.run_path(str(tmp_path / "workflow/script.py"))["main"]
    import_module("mbert_atlas.corpora.cards")  # its import makes an object that is not used
    codes = set()
    sys.setprofile(lambda frame, *_: codes.add((frame.f_globals.get("__name__"), frame.f_code)))
    try:
        main(tmp_path)
    finally:
        sys.setprofile(None)
    ran = {
        f"{module}:{code.co_qualname.partition('.')[0]}"
        for module, code in codes
        if code.co_filename.startswith(str(ROOT / "mbert_atlas"))
        and code.co_flags & inspect.CO_OPTIMIZED  # not what runs on import
        and module.removeprefix("mbert_atlas.") not in ("errors", "progress", "registry")
        and not code.co_qualname.startswith("<")
    }
    assert len(ran) > 10
    counted = Fingerprints(tmp_path).explain("workflow.script:main", *ROOTS)
    assert ran - counted.keys() == set()


def test_fingerprints_are_kept_until_a_file_changes(tmp_path):
    write(tmp_path)
    cache = tmp_path / "cache/fingerprints.json"
    before = Fingerprints(tmp_path, cache).of(MAIN)
    assert before == Fingerprints(tmp_path).of(MAIN)
    cache.write_text(cache.read_text().replace(before, "as kept"))
    assert Fingerprints(tmp_path, cache).of(MAIN) == "as kept"
    assert Fingerprints(tmp_path, cache).of("mbert_atlas.values:Value") != "as kept"
    assert Fingerprints(tmp_path, cache).of(MAIN) == "as kept"
    (tmp_path / "mbert_atlas/tools.py").touch()
    assert Fingerprints(tmp_path, cache).of(MAIN) == before
    cache.write_text("damaged")
    assert Fingerprints(tmp_path, cache).of(MAIN) == before

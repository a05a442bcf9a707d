"""The code fingerprint follows imports; words about the code do not count."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tree(tmp_path):
    shutil.copytree(ROOT / "mbert_atlas", tmp_path / "mbert_atlas")
    (tmp_path / "script.py").write_text("from mbert_atlas.alignment.metrics import score\n")
    return tmp_path


def value(tree, script="script.py"):
    """Ask a fresh process, as Snakemake would."""
    code = f"from mbert_atlas.fingerprint import fingerprint; print(fingerprint({script!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tree, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_comments_docstrings_and_untouched_modules_do_not_count(tree):
    before = value(tree)
    metrics = tree / "mbert_atlas/alignment/metrics.py"
    metrics.write_text("# a comment\n" + metrics.read_text().replace('"""', '"""Other. ', 1))
    with open(tree / "mbert_atlas/figures/style.py", "a") as stream:
        stream.write("\nUNRELATED = 1\n")
    assert value(tree) == before


def test_code_of_the_script_and_of_what_it_imports_counts(tree):
    before = value(tree)
    with open(tree / "mbert_atlas/alignment/metrics.py", "a") as stream:
        stream.write("\nCHANGED = 1\n")
    after = value(tree)
    assert after != before
    with open(tree / "script.py", "a") as stream:
        stream.write("x = 1\n")
    assert value(tree) not in (before, after)


def test_imports_are_followed_through_modules(tree):
    (tree / "script.py").write_text("from mbert_atlas.planning import runs\n")
    before = value(tree)
    with open(tree / "mbert_atlas/config/training.py", "a") as stream:
        stream.write("\nCHANGED = 1\n")
    assert value(tree) != before

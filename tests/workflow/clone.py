"""Snakemake in a copy of the repository: its plan, its output, its results."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd

import forked

ROOT = Path(__file__).parents[2]
DEMO = ["--configfile", "config/demo.yaml"]
# Of synthetic data; what is not stated would be as large as in the demo.
TINY_SIZES = {
    **{"wikipedia_pages": 6, "stories": 40, "bitext_sentences": 120, "gold_sentences": 20},
    **{"ud_train": 30, "ud_dev": 8, "ud_test": 12, "nli_train": 90, "nli_test": 45},
    **{"ner_train": 40, "ner_test": 15, "qa_train": 30, "qa_test": 9},
}
# Over the demo's preset: few synthetic texts in two languages, and no paper.
TINY = f"""
papers: []
miniature: {{languages: [en, ru], lending: [en, ru], sizes: {json.dumps(TINY_SIZES)}}}
datasets:
  xnli: {{languages: [en, ru]}}
  wikipedia: {{languages: [en, ru]}}
  stories: {{languages: [en, ru]}}
  translations: {{languages: [ru]}}
"""


def copy_repository(destination: Path, source: Path = ROOT) -> Path:
    """Copy the files of a checkout that git tracks or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=source,
        capture_output=True,
        check=True,
    ).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (source / name).is_file():
            (destination / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, destination / name)
    return destination


def snakemake(folder: Path, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess:
    """Run Snakemake there; it imports the package of the copy, which comes first on the path."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    words = ["-m", "snakemake", *map(str, arguments)]
    return forked.run(folder, words, environment, timeout)


def python(folder: Path, *arguments: str, typed: str = "", timeout: float = 600):
    """Run Python there, on the package of that copy."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    if arguments[0] == "-m" and not typed:
        return forked.run(folder, arguments, environment, timeout)
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        input=typed,
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
    )


def said(done: subprocess.CompletedProcess) -> str:
    """What a process printed: dry runs on the standard output, others on the error output."""
    return done.stdout + done.stderr


def succeeded(done: subprocess.CompletedProcess) -> str:
    """What a process printed that has to succeed."""
    assert done.returncode == 0, said(done)[-6000:]
    return said(done)


def failed(done: subprocess.CompletedProcess) -> str:
    """What a process printed that has to fail, with a sentence instead of lines of code."""
    output = said(done)
    assert done.returncode != 0, output
    assert "Traceback" not in output, output
    assert 'File "' not in output, output
    return output


def jobs(done: subprocess.CompletedProcess) -> dict[str, int]:
    """Number of jobs by rule in a dry run."""
    found = re.search(r"Job stats:\n.*?\n-[- ]+\n(.*?)\n\n", succeeded(done), re.S)
    rows = [line.split() for line in found.group(1).splitlines()] if found else []
    return {name: int(count) for name, count in rows}


def trained(planned: dict[str, int]) -> int:
    """Number of fine-tunings in a dry run, with and without a model to read."""
    return planned.get("finetune", 0) + planned.get("finetune_unsaved", 0)


def left_to_do(folder: Path, *arguments: str, target: str = "all") -> dict[str, int]:
    """Number of jobs by rule that a target of the demo in a folder still needs."""
    planned = jobs(snakemake(folder, target, "-n", "--profile", "local", *DEMO, *arguments))
    return {name: count for name, count in planned.items() if name not in ("total", target)}


def measured(folder: Path, name: str) -> pd.DataFrame:
    """Measurements of ``paper/artifact`` in a folder where the demo has run."""
    path = folder / "results/demo/measurements" / f"{name}.csv"
    return pd.read_csv(path, keep_default_na=False)

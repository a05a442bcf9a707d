"""Snakemake in a copy of the repository."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def copy_repository(destination: Path) -> Path:
    """Copy the files that git knows, or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (destination / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, destination / name)
    return destination


def snakemake(folder: Path, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess:
    """Run Snakemake there; its package is the copy's, as the folder comes first on the path."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
        check=False,
    )

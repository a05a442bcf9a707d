"""No timers of Snakemake's rate limiter, which would grow with the jobs that have ended."""

import pytest

from clone import ROOT, snakemake

pytestmark = pytest.mark.workflow
SNAKEFILE = f"""
import sys

sys.path.insert(0, "{ROOT}")
from workflow.supervision import supervise

onstart:
    supervise(workflow, logger, "results")
import threading

onsuccess:
    print("timers", sum(isinstance(thread, threading.Timer) for thread in threading.enumerate()))

rule all:
    input: [f"{{number}}" for number in range(9)]

rule job:
    output: "{{number}}"
    shell: ": > {{output}}"
"""


def test_jobs_leave_no_timers(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    done = snakemake(tmp_path, "--cores", "1")
    assert done.returncode == 0, done.stderr
    assert "timers 0" in done.stdout + done.stderr

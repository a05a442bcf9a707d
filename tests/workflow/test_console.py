"""What a run shows on a terminal and elsewhere, and what its log keeps."""

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
import time

import pytest
from axe import check, needs_axe

import forked
from clone import ROOT

pytestmark = pytest.mark.workflow

# Jobs of 1, 1, 6 and 2 expected seconds, one after the other.
SNAKEFILE = """
from types import SimpleNamespace

from snakemake.exceptions import WorkflowError

from workflow import live, predict
from workflow.console import show_essentials, show_progress

SECONDS = {"a": 1.0, "b": 1.0, "c": 6.0, "all": 2.0}
predict.expected_seconds = lambda workflow: {
    job: SECONDS[job.rule.name] for job in workflow.dag.needrun_jobs()
}
FILES = {"figure1": ["r/tables/a", "r/figures/b"], "table1": ["c"], "table2": ["not made"]}
plan = SimpleNamespace(
    shown=lambda scope: [("toy2020", SimpleNamespace(name=name)) for name in FILES],
    targets=lambda paper, artifact: FILES[artifact.name],
    resolved=str,
    results="r",
    config=SimpleNamespace(run="toy", comparable=True),
)
live.SECONDS = 0.2
show_essentials(workflow)
if "mistake" in config:
    raise WorkflowError("config, key mistake: it is one; remove it.")

rule all:
    input: "c"
rule a:
    output: "r/tables/a"
    shell: "touch {output}"
rule b:
    input: "r/tables/a"
    output: "r/figures/b"
    shell: "touch {output}"
rule c:
    input: "r/figures/b"
    output: "c"
    log: "c.log"
    shell: config.get("shell", "touch {output}")

onstart:
    show_progress(workflow, plan, log)
"""
LINES = [
    "4 jobs; progress: r/progress.html; Snakemake's log: .snakemake/log/",
    " 10%  1 of 4 jobs, about ",
    " 20%  toy2020 figure1: r/figures/b and 1 more",
    " 20%  2 of 4 jobs, about ",
    " 80%  toy2020 table1: c",
    " 80%  3 of 4 jobs, about ",
    "Complete log(s): ",
    "Elapsed time: ",
]


WORDS = ["-m", "snakemake", "--cores", "1"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}


def start(folder, *arguments):
    (folder / "Snakefile").write_text(SNAKEFILE)
    return forked.Program(folder, [*WORDS, *arguments], ENVIRONMENT, together=True)


def shown(folder, *arguments):
    """Exit status and the lines that a run shows without a terminal."""
    process = start(folder, *arguments)
    printed, _ = process.communicate(timeout=300)
    assert "\x1b" not in printed
    assert "\r" not in printed
    return process.returncode, printed.splitlines()


def test_a_run_without_terminal_shows_artifacts_and_tenths(tmp_path):
    code, lines = shown(tmp_path)
    assert code == 0
    assert [line[: len(start)] for line, start in zip(lines, LINES, strict=True)] == LINES
    (log,) = (tmp_path / ".snakemake/log").iterdir()
    kept = log.read_text()
    assert "Job stats:" in kept
    assert kept.count("Finished jobid") == 4
    assert re.search(r"^localrule c:\n    input: r/figures/b\n    output: c$", kept, re.MULTILINE)
    assert LINES[4] in kept
    assert shown(tmp_path)[1] == [
        "Nothing to be done (all requested files are present and up to date)."
    ]


def test_a_page_shows_what_runs_and_is_made_and_how_the_run_ended(tmp_path):
    line = (
        "2026-11-28 08:00:00,000 INFO a.b: nli, epoch 1 of 2: mean loss 0.5, 90 tokens per second"
    )
    wait = f"echo '{line}' > {{log}}; until [ -e go ]; do sleep .1; done; touch {{output}}"
    process = start(tmp_path, "--config", f"shell={wait}")
    page = tmp_path / "r/progress.html"
    end = time.monotonic() + 120
    while not (page.exists() and "mean loss 0.5" in (text := page.read_text())):
        assert time.monotonic() < end
        time.sleep(0.2)
    assert "<strong>2 of 4 jobs</strong>" in text
    assert '<progress max="1" value="0.2">' in text
    assert '<a class="log" href="../c.log">nli, epoch 1 of 2: mean loss 0.5' in text
    assert '<li><a href="figures/b">toy2020 figure1</a></li>' in text
    assert "<p>toy2020 table1</p>" in text
    assert "http-equiv" in text, "it loads itself again"
    (tmp_path / "go").touch()
    process.communicate(timeout=120)
    text = page.read_text()
    assert "Run “toy”: done" in text
    assert "<strong>4 of 4 jobs</strong>" in text
    assert "http-equiv" not in text


def test_a_page_names_what_failed(tmp_path):
    code, _ = shown(tmp_path, "--config", "shell=echo it > {log}; false")
    assert code == 1
    text = (tmp_path / "r/progress.html").read_text()
    assert "Run “toy”: stopped" in text
    assert (
        '<strong>c</strong>: c failed. <em>It is not tried again.</em> <a href="../c.log">' in text
    )


@needs_axe
@pytest.mark.parametrize("dark", [False, True])
def test_a_page_passes_an_accessibility_check(tmp_path, dark):
    shown(tmp_path, "--config", "shell=echo it > {log}; false")
    assert check(tmp_path / "r/progress.html", width=500, dark=dark)["wrong"] == []


def test_a_terminal_has_a_bar_with_the_remaining_time(tmp_path):
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    streams = {"stdout": theirs, "stderr": theirs}
    command = [sys.executable, *WORDS]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, **streams)
    os.close(theirs)
    printed = b""
    try:
        while data := os.read(ours, 65536):
            printed += data
    except OSError:  # Linux: the other end is closed
        pass
    os.close(ours)
    assert process.wait(300) == 0
    text = printed.decode()
    assert re.search(r" 20% \|.{24}\| 2 of 4 jobs, [\d:]+ so far, about [\d:]+ left", text)
    plain = re.sub(r"\x1b\[[\d;]*[A-Za-z]", "", text)
    assert re.search(r"\r 20%  toy2020 figure1: r/figures/b and 1 more\r\n", plain)
    assert len(plain.split("\n")) < 60
    assert plain.split("\r")[-1].strip() == "", "the bar is gone at the end"


@pytest.mark.parametrize("options", [["-n"], ["--printshellcmds"], ["--quiet", "reason"]])
def test_some_options_show_what_snakemake_shows(tmp_path, options):
    code, lines = shown(tmp_path, *options)
    assert code == 0
    assert "localrule c:" in lines or "rule c:" in lines
    assert "Job stats:" in lines
    assert not [line for line in lines if "toy2020" in line]


def test_a_failed_job_is_two_lines(tmp_path):
    fails = "shell=echo Our sentence. >&2; exit 1"
    code, lines = shown(tmp_path, "--keep-going", "--config", fails)
    assert code == 1
    failed = lines.index("Our sentence.")
    assert lines[failed + 1] == "Error in rule c, see c.log"
    assert lines[failed + 2].startswith("Complete log(s): ")
    assert lines[failed + 4 :] == ["At least one job did not complete successfully."]
    assert (
        "    log: c.log (check log file(s) for error details)"
        in next((tmp_path / ".snakemake/log").iterdir()).read_text()
    )


@pytest.mark.parametrize("options", [[], ["-n"], ["--quiet", "reason"]])
def test_an_error_ends_with_its_sentence(tmp_path, options):
    code, lines = shown(tmp_path, *options, "--config", "mistake=1")
    assert code == 1
    assert lines[-1] == "config, key mistake: it is one; remove it."
    assert not [line for line in lines if "Error" in line or "File" in line]

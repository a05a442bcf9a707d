"""What a run cost, from the benchmark files that Snakemake writes."""

import csv
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import open_text

COLUMNS = (
    *("paper", "stage", "jobs", "wall_hours", "cpu_hours", "gpu_hours", "peak_memory_mb"),
    "jobs_without_reading",
)
GPU_NOTE = "used {count:g} GPU(s)"
"""What a job writes to its log at its end if it computed on GPUs, or on a part of one."""
_GPU_NOTE = re.compile(re.escape(GPU_NOTE).replace(re.escape("{count:g}"), "([0-9.]+)"))


def collect_cost(
    benchmarks: Sequence[Path],
    *,
    root: Path,
    logs: Path,
    rules: Mapping[str, Mapping[str, str]],
    papers: Mapping[str, str],
) -> pd.DataFrame:
    """Add up benchmark files by paper and stage.

    The files are ``<root>/<rule>/<...>.tsv`` as Snakemake writes them, the logs have the same paths
    in the folder ``logs`` but for the ending ``.log``. They show whether a job computed on a GPU;
    to request one is not to get one. ``rules`` has the ``stage`` of each rule and, where paths name
    no paper, the ``paper`` to charge; ``papers`` maps a part of a path below the rule's folder (a
    paper or a run's id; of the file name the part before its last dot) to the paper to charge. The
    first match counts. Raises AtlasError if a rule is not in ``rules``.

    Returns the columns ``COLUMNS``, sorted by paper and stage: number of jobs, hours of wall time,
    CPU time and wall time times GPUs, and the largest resident set in MB. Jobs of a few seconds,
    whose CPU time and memory Snakemake does not read, are counted in the last column and add wall
    time only.
    """
    rows = []
    for path in benchmarks:
        place = path.relative_to(root)
        rule, *parts = place.with_suffix("").parts
        if rule not in rules:
            names = ", ".join(sorted(rules)) or "none"
            raise AtlasError(f"{path}: rule {rule!r} has no stage; only {names} have one.")
        default = rules[rule].get("paper", "shared")
        paper = next((papers[part] for part in parts if part in papers), default)
        gpus = gpus_used(logs / place.with_suffix(".log"))
        for seconds, megabytes, cpu_seconds in read_benchmark(path):
            hours = seconds / 3600
            costs = (hours, cpu_seconds / 3600, hours * gpus, megabytes)
            rows.append((paper, rules[rule]["stage"], 1, *costs, int(math.isnan(cpu_seconds))))
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    sums = dict.fromkeys(COLUMNS[2:], "sum") | {"peak_memory_mb": "max"}
    return frame.groupby(["paper", "stage"], as_index=False).agg(sums)


def gpus_used(log: Path) -> float:
    """Return on how many GPUs a job computed, by its log; 0 if there is none.

    Of a GPU that jobs shared, that is a part; of several attempts, the last one counts.
    """
    if not log.exists():
        return 0
    with open_text(log) as stream:
        return [0.0, *(float(note[1]) for note in map(_GPU_NOTE.search, stream) if note)][-1]


def read_benchmark(path: Path) -> list[tuple[float, float, float]]:
    """Return seconds, peak MB and CPU seconds for each repetition; NaN where not read."""
    with open_text(path) as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        try:
            return [
                (_number(row["s"]), _number(row["max_rss"]), _number(row["cpu_time"]))
                for row in rows
            ]
        except (KeyError, TypeError, ValueError):
            problem, fix = "a job was killed while it was written", "delete the file"
            raise DataError(path, "", problem, fix) from None


def _number(text: str) -> float:
    return math.nan if text in ("NA", "-") else float(text)

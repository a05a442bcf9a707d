"""Costs by paper and stage."""

import math
from pathlib import Path

import pandas as pd
import pytest

from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.scorecard.cells import write_csv
from mbert_atlas.scorecard.cost import GPU_NOTE, collect_cost, read_benchmark

HEADER = [
    *("s", "h:m:s", "max_rss", "max_vms", "max_uss", "max_pss"),
    *("io_in", "io_out", "mean_load", "cpu_time"),
]
RULES = {
    "finetune": {"stage": "training"},
    "extract": {"stage": "corpora"},
    "scores": {"stage": "analysis", "paper": "adjusting2020"},
}


def benchmark(path: Path, *rows: dict[str, object], extra: tuple[str, ...] = ()) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    header = [*HEADER, *extra]
    lines = [[str(row.get(column, "1.00")) for column in header] for row in rows]
    path.write_text("".join("\t".join(line) + "\n" for line in [header, *lines]))
    return path


def test_cost_by_paper_and_stage(tmp_path: Path) -> None:
    files = [
        benchmark(
            tmp_path / "finetune" / "nli-hi.published" / "seed1.tsv",
            {"s": 3600, "max_rss": 900.5, "cpu_time": 7200},
        ),
        benchmark(
            tmp_path / "finetune" / "nli-hi.published" / "seed2.tsv",
            {"s": 1800, "max_rss": 1000, "cpu_time": 1800, "wildcards": "{'a': 'b\"'}"},
            extra=("jobid", "wildcards"),
        ),
        benchmark(
            tmp_path / "extract" / "hi.tsv",
            {"s": 36, "max_rss": "NA", "cpu_time": "NA"},
            {"s": 36, "max_rss": 50, "cpu_time": 18},
        ),
        benchmark(tmp_path / "scores" / "x.tsv", {"s": 360, "max_rss": "-", "cpu_time": 36}),
    ]
    log = tmp_path / "logs" / "finetune" / "nli-hi.published" / "seed1.log"
    log.parent.mkdir(parents=True)
    attempts = [GPU_NOTE.format(count=1), GPU_NOTE.format(count=0.25)]  # the last one with others
    log.write_text("".join(f"INFO root: {note}\nINFO root: done\n" for note in attempts))
    log.with_name("seed2.log").write_text("INFO root: done in 1800.0 s\n")
    frame = collect_cost(
        files,
        root=tmp_path,
        logs=tmp_path / "logs",
        rules=RULES,
        papers={"nli-hi.published": "adjusting2020"},
    )
    by = {(row.paper, row.stage): row for row in frame.itertuples()}
    training = by["adjusting2020", "training"]
    assert (training.jobs, training.wall_hours, training.cpu_hours) == (2, 1.5, 2.5)
    assert (training.gpu_hours, training.peak_memory_mb) == (0.25, 1000)
    corpora = by["shared", "corpora"]
    assert (corpora.jobs, corpora.jobs_without_reading, corpora.gpu_hours) == (2, 1, 0)
    assert corpora.wall_hours == pytest.approx(0.02)
    assert corpora.cpu_hours == pytest.approx(0.005)
    assert corpora.peak_memory_mb == 50
    assert math.isnan(by["adjusting2020", "analysis"].peak_memory_mb)
    write_csv(frame, tmp_path / "cost.csv")
    assert len(pd.read_csv(tmp_path / "cost.csv")) == 3


def test_a_run_id_with_dots_may_be_the_file_name(tmp_path: Path) -> None:
    path = benchmark(tmp_path / "finetune" / "nli-hi.published.tsv", {"s": 3600})
    options = {"root": tmp_path, "logs": tmp_path / "logs", "rules": RULES}
    frame = collect_cost([path], papers={"nli-hi.published": "p"}, **options)
    assert frame["paper"].tolist() == ["p"]
    assert collect_cost([], papers={}, **options).empty


def test_bad_benchmarks_are_named(tmp_path: Path) -> None:
    unknown = benchmark(tmp_path / "brew" / "tea.tsv", {})
    with pytest.raises(AtlasError, match="rule 'brew' has no stage"):
        collect_cost([unknown], root=tmp_path, logs=tmp_path / "logs", rules=RULES, papers={})


@pytest.mark.parametrize("content", ["s\tmax_rss\n1.0\t2.0\n", "s\tmax_rss\tcpu_time\n1.0\t"])
def test_a_half_written_benchmark_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.tsv").write_text(content)
    with pytest.raises(DataError, match=r"x\.tsv: a job was killed .*delete the file"):
        read_benchmark(tmp_path / "x.tsv")

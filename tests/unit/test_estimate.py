"""Estimates: wall times worked out by hand, rates that made-up times were drawn from."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from mbert_atlas.errors import DataError
from mbert_atlas.plan.estimate import (
    ELSEWHERE,
    FAR,
    FEATURES,
    LIMIT,
    MEASURED,
    OPERATIONS,
    Job,
    Limits,
    as_text,
    estimate,
    hours,
    peak_disk,
    wall_time,
)
from mbert_atlas.plan.rates import Rate, fit, read_rates, write_rates

ROOT = Path(__file__).parents[2]


def job(**values: object) -> Job:
    return Job("rule", "paper", "stage", 0.0, **values)  # type: ignore[arg-type]


def limits(gpus: int = 0, cores: int = 8, jobs: int = 100, local_cores: int = 1) -> Limits:
    return Limits(gpus, cores, jobs, local_cores)


# prepare (10 s) -> four trainings on a GPU (100 s each) -> score (5 s)
TRAININGS = [job(), *(job(needs=(0,), gpus=1) for _ in range(4)), job(needs=(1, 2, 3, 4))]
TIMES = [10.0, 100.0, 100.0, 100.0, 100.0, 5.0]


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [
        (limits(1), 400),
        (limits(2), 200),
        (limits(64), 115),  # the chain
        (limits(cores=2), 415 / 2),  # trainings on cores
        (limits(4, jobs=2), 415 / 2),  # two jobs at once
    ],
)
def test_scarcest_resource_or_longest_chain_decides(limit: Limits, seconds: float) -> None:
    assert wall_time(TRAININGS, TIMES, limit) == seconds


def test_threads_and_local_jobs() -> None:
    assert wall_time([job(threads=64)], [10], limits(cores=2)) == 10
    jobs = [job(), job(is_local=True), job(is_local=True)]
    assert wall_time(jobs, [10, 10, 10], limits(cores=1, local_cores=2)) == 10
    assert wall_time(jobs, [10, 10, 10], limits(cores=1, local_cores=1)) == 20


def test_temporary_outputs_exist_two_for_each_running_job() -> None:
    jobs = [job(temporary=size) for size in (7, 5, 3)] + [job(kept=1), job(kept=9, todo=False)]
    assert peak_disk(jobs, limits(cores=1)) == 1 + 7 + 5
    assert peak_disk(jobs, limits(cores=2)) == 1 + 7 + 5 + 3
    features = [job(temporary=2, is_feature=True) for _ in range(20)]
    assert peak_disk(features, limits(cores=64)) == 2 * FEATURES


def test_fit_finds_start_and_speed() -> None:
    work = [1e9, 5e9, 2e10, 1e11]
    found = fit(work, [4 + 2e-10 * units for units in work], [math.nan] * 4, usual_start=1)
    assert found.start == pytest.approx(4)
    assert found.per_unit == pytest.approx(2e-10)
    assert found.jobs == 4


def test_equal_work_does_not_tell_the_start() -> None:
    found = fit([100, 100], [22, 22], [33, math.nan], usual_start=4)
    assert (found.start, found.per_unit) == pytest.approx((4, 0.18))
    assert (found.cores, found.most_work) == (1.5, 100)
    found = fit([100, 100], [22, 22], [33, 33], usual_start=4, before=Rate(1, 0.1))
    assert (found.start, found.per_unit) == pytest.approx((2, 0.2))


def test_times_that_do_not_grow_still_grow_beyond() -> None:
    found = fit([1, 2, 3], [1.1, 1.0, 0.9], [math.nan] * 3, usual_start=0.5)
    assert found.start + 2 * found.per_unit == pytest.approx(1)
    assert found.seconds(1000) > 100


def test_measured_rates_come_before_assumed_ones() -> None:
    def planned(rule: str, **values: object) -> Job:
        return Job(rule, "p", "s", 8e13, todo="seconds" not in values, **values)  # type: ignore[arg-type]

    jobs = [
        planned("probe", seconds=7.0, cpu_seconds=14.0, limit=28.0),
        planned("probe"),
        planned("train", runs_model=True, gpus=1),
        planned("draw", limit=60.0),
        planned("known", limit=60.0),
        planned("far", limit=60.0),
    ]
    elsewhere = {
        ("known", "cpu"): Rate(2.0, most_work=8e12),
        ("far", "cpu"): Rate(2.0, 1e-12, most_work=7e12),
    }
    found = estimate(jobs, elsewhere, [limits(1)])
    seconds = dict(zip(found.sources["source"], found.sources["wall_hours"] * 3600, strict=True))
    assert seconds == pytest.approx({MEASURED: 7, OPERATIONS: 62, LIMIT: 15, ELSEWHERE: 2, FAR: 60})
    assert found.costs["jobs"].sum() == 5
    assert found.costs["gpu_hours"].sum() * 3600 == pytest.approx(62)
    assert found.costs["cpu_hours"].sum() * 3600 == pytest.approx(14 + 62 + 15 + 2 + 60)
    assert found.times["wall_hours"].iloc[0] * 3600 == pytest.approx(62)
    assert f"{LIMIT} (draw)" in as_text(found)


def test_little_work_does_not_tell_the_speed_of_much() -> None:
    elsewhere = {("rank", "cpu"): Rate(2.0, 1e-8, most_work=1e8)}
    for is_computed, seconds in ((False, 10_002), (True, 52)):  # at most 20 GFLOP/s
        planned = Job("rank", "p", "s", 1e12, is_computed=is_computed)
        found = estimate([planned], elsewhere, [limits()]).costs["wall_hours"].sum()
        assert 3600 * found == pytest.approx(seconds)


def test_nothing_left() -> None:
    assert as_text(estimate([], {}, [limits(1)])) == "Nothing is left to run."


def test_rates_can_be_written_and_read(tmp_path: Path) -> None:
    rates = {("train", "gpu"): Rate(60, 2.5e-14, 1.25, 3, 5), ("draw", "cpu"): Rate(2)}
    write_rates(rates, tmp_path / "rates.csv")
    assert read_rates(tmp_path / "rates.csv") == rates
    (tmp_path / "rates.csv").write_text("rule,device\ntrain,gpu\n")
    with pytest.raises(DataError, match="line 2"):
        read_rates(tmp_path / "rates.csv")


def test_shipped_rates_are_read() -> None:
    assert read_rates(ROOT / "resources/prediction/rates.csv")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "1 s"), (119, "119 s"), (600, "10 min"), (7200, "2.0 h"), (864000, "10.0 days")],
)
def test_times_in_words(seconds: float, text: str) -> None:
    assert hours(seconds) == text

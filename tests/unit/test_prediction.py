"""Predictions: schedules worked out by hand, rates that made-up times were drawn from."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.plan.dataset_volumes import Volume
from mbert_atlas.plan.prediction import (
    ELSEWHERE,
    FAR,
    LIMIT,
    MEASURED,
    OPERATIONS,
    Planned,
    as_text,
    predict,
)
from mbert_atlas.plan.schedule import Job, Limits, Output, simulate
from mbert_atlas.plan.timing import Rate, fit, hours, read_rates, write_rates
from mbert_atlas.plan.volumes import Shape

ROOT = Path(__file__).parents[2]


def limits(gpus: int = 0, cores: int = 8, jobs: int = 100, local_cores: int = 1) -> Limits:
    return Limits(gpus, cores, jobs, local_cores)


# prepare (10 s) -> four trainings on a GPU (100 s each) -> score (5 s)
TRAININGS = [Job(), *(Job(needs=(0,), gpus=1) for _ in range(4)), Job(needs=(1, 2, 3, 4))]
TIMES = [10.0, 100.0, 100.0, 100.0, 100.0, 5.0]


@pytest.mark.parametrize(("gpus", "seconds"), [(1, 415), (2, 215), (3, 215), (4, 115), (64, 115)])
def test_gpus_share_the_trainings(gpus: int, seconds: float) -> None:
    assert simulate(TRAININGS, TIMES, limits(gpus)).seconds == seconds


def test_without_gpus_they_take_cores() -> None:
    assert simulate(TRAININGS, TIMES, limits(cores=2)).seconds == 215


def test_no_more_jobs_are_submitted_than_allowed() -> None:
    assert simulate(TRAININGS, TIMES, limits(4, jobs=2)).seconds == 215


def test_one_that_finds_no_room_holds_nothing_back() -> None:
    # 3 of 4 cores for 10 s; then one that wants all of them waits, and small ones pass it.
    jobs = [Job(threads=3), Job(threads=4), Job(), Job()]
    assert simulate(jobs, [10, 10, 5, 5], limits(cores=4)).seconds == 20


def test_more_threads_than_cores_are_cut() -> None:
    assert simulate([Job(threads=64)], [10], limits(cores=2)).seconds == 10


def test_priority_goes_first() -> None:
    # On one core: the long chain behind the last job wants it first, once there are two.
    jobs = [Job(), Job(), Job(priority=1), Job(needs=(2,), threads=1)]
    assert simulate(jobs, [10, 10, 10, 20], limits(cores=2)).seconds == 30
    plain = [Job(), Job(), Job(), Job(needs=(2,))]
    assert simulate(plain, [10, 10, 10, 20], limits(cores=2)).seconds == 40


def test_local_jobs_hold_no_core_of_the_cluster() -> None:
    jobs = [Job(), Job(is_local=True), Job(is_local=True)]
    assert simulate(jobs, [10, 10, 10], limits(cores=1, local_cores=2)).seconds == 10
    assert simulate(jobs, [10, 10, 10], limits(cores=1, local_cores=1)).seconds == 20


def test_what_has_been_read_by_all_leaves_the_disk() -> None:
    # Vectors of 7 bytes, each read by one job that leaves 1: one after the other, or both at once.
    jobs = [
        Job(outputs=(Output(7, (2,)),)),
        Job(outputs=(Output(7, (3,)),), priority=-1),
        Job(needs=(0,), outputs=(Output(1),)),
        Job(needs=(1,), outputs=(Output(1),)),
    ]
    assert simulate(jobs, [10, 10, 1, 1], limits(cores=1)).disk == 9
    assert simulate(jobs, [10, 10, 1, 1], limits(cores=2)).disk == 15
    kept = [Job(outputs=(Output(7),)), Job(needs=(0,), outputs=(Output(1),))]
    assert simulate(kept, [1, 1], limits()).disk == 8


def test_a_circle_is_named() -> None:
    with pytest.raises(AtlasError, match="2 of 2 jobs wait for each other"):
        simulate([Job(needs=(1,)), Job(needs=(0,))], [1, 1], limits())


def test_a_fit_finds_the_start_and_the_speed() -> None:
    work = [1e9, 5e9, 2e10, 1e11]
    found = fit(work, [4 + 2e-10 * units for units in work], [math.nan] * 4, usual_start=1)
    assert found.start == pytest.approx(4)
    assert found.per_unit == pytest.approx(2e-10)
    assert found.jobs == 4


def test_the_same_work_says_nothing_of_the_start() -> None:
    found = fit([100, 100], [22, 22], [33, math.nan], usual_start=4)
    assert (found.start, found.per_unit) == pytest.approx((4, 0.18))
    assert (found.cores, found.most_work) == (1.5, 100)
    found = fit([100, 100], [22, 22], [33, 33], usual_start=4, before=Rate(1, 0.1))
    assert (found.start, found.per_unit) == pytest.approx((2, 0.2))


def test_work_too_little_to_be_seen_still_counts() -> None:
    found = fit([1, 2, 3], [1.1, 1.0, 0.9], [math.nan] * 3, usual_start=0.5)
    assert found.start + 2 * found.per_unit == pytest.approx(1)
    assert found.seconds(1000) > 100


def test_what_is_measured_comes_before_what_is_assumed() -> None:
    def planned(rule: str, *, runs_model: bool = False, gpus: int = 0, **more: float) -> Planned:
        job = None if "seconds" in more else Job(gpus=gpus)
        return Planned(rule, "p", "s", job, 8e13, runs_model=runs_model, **more)  # type: ignore[arg-type]

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
    found = predict(jobs, elsewhere, [limits(1)])
    seconds = dict(zip(found.sources["source"], found.sources["wall_hours"] * 3600, strict=True))
    assert seconds == pytest.approx({MEASURED: 7, OPERATIONS: 62, LIMIT: 15, ELSEWHERE: 2, FAR: 60})
    assert found.costs["jobs"].sum() == 5
    assert found.costs["gpu_hours"].sum() * 3600 == pytest.approx(62)
    assert found.costs["cpu_hours"].sum() * 3600 == pytest.approx(14 + 62 + 15 + 2 + 60)
    assert found.times["wall_hours"].iloc[0] * 3600 == pytest.approx(62)
    assert "a share of the time limit, a guess (draw)" in as_text(found)


def test_little_work_says_nothing_of_the_speed_of_much() -> None:
    elsewhere = {("rank", "cpu"): Rate(2.0, 1e-8, most_work=1e8)}
    read, computed = (Planned("rank", "p", "s", Job(), 1e12, is_computed=x) for x in (False, True))
    hours = [
        predict([job], elsewhere, [limits()]).costs["wall_hours"].sum() for job in (read, computed)
    ]
    assert [3600 * value for value in hours] == pytest.approx([10_002, 52])  # 20 GFLOP/s


def test_nothing_left() -> None:
    assert as_text(predict([], {}, [limits(1)])) == "Nothing is left to be done."


def test_operations_of_bert_base() -> None:
    # 85 million weights of the layers: 0.17 GFLOP a piece; rows of 128 add 2 * 2 * 12 * 768 * 128.
    found = Shape().forwards(Volume(10, 1280)) / 1280
    assert found == pytest.approx(2 * 84_934_656 + 4 * 12 * 768 * 128)
    assert Shape().bytes == pytest.approx(0.71e9, rel=0.01)  # its safetensors file


def test_rates_come_back(tmp_path: Path) -> None:
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
def test_times_read_well(seconds: float, text: str) -> None:
    assert hours(seconds) == text

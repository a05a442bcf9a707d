"""Estimates: wall times worked out by hand, rates that made-up times were drawn from."""

import math

import pytest
from configs import ROOT

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
    Rate,
    as_text,
    estimate,
    learn,
    peak_disk,
    read_rates,
    wall_time,
    write_rates,
)


def job(work=0.0, rule="rule", **values):
    return Job(rule, "paper", "stage", work, **values)


def limits(gpus=0, cores=8, jobs=100):
    return Limits(gpus, cores, jobs)


# prepare (10 s) -> four trainings on a GPU (100 s each) -> score (5 s)
TRAININGS = [job(), *(job(needs=(0,), gpus=1) for _ in range(4)), job(needs=(1, 2, 3, 4))]
TIMES = [10.0, 100.0, 100.0, 100.0, 100.0, 5.0]


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [
        (limits(1), 400),
        (limits(64), 115),  # the chain
        (limits(cores=2), 415 / 2),  # trainings on cores
        (limits(4, jobs=2), 415 / 2),  # two jobs at once
    ],
)
def test_scarcest_resource_or_longest_chain_decides(limit, seconds):
    assert wall_time(TRAININGS, TIMES, limit) == seconds


def test_temporary_outputs_exist_two_for_each_running_job():
    jobs = [job(temporary=size) for size in (7, 5, 3)] + [job(kept=1), job(kept=9, todo=False)]
    assert peak_disk(jobs, limits(cores=1)) == 1 + 7 + 5
    features = [job(temporary=2, is_feature=True) for _ in range(20)]
    assert peak_disk(features, limits(cores=64)) == 2 * FEATURES


def test_rates_are_fitted_to_measured_jobs():
    jobs = [job(work, seconds=0.6 + work / 10) for work in (10.0, 50.0, 200.0)]
    jobs += [job(rule="idle", seconds=3.0, cpu_seconds=1.5), job(rule="new")]
    found = learn(jobs)
    rate = found["rule", "cpu"]
    assert (rate.start, rate.per_unit, rate.cores) == pytest.approx((0.6, 0.1, 1))
    assert (rate.jobs, rate.most_work) == (3, 200)
    assert found["idle", "cpu"] == Rate(3.0, cores=0.5, jobs=1, most_work=0.0)
    assert len(found) == 2
    # Imports take no more than the shortest job; the total is as measured.
    rate = learn([job(1, seconds=0.2), job(2, seconds=0.4)])["rule", "cpu"]
    assert rate.start == 0.2
    assert rate.seconds(1) + rate.seconds(2) == pytest.approx(0.6)


def test_measured_rates_come_before_assumed_ones():
    jobs = [
        job(8e13, "probe", seconds=7.0, cpu_seconds=14.0, todo=False),
        job(8e13, "probe"),
        job(8e13, "train", computes=True, gpus=1, steps=1_000),
        job(8e13, "draw", limit=60.0),
        job(8e13, "known", limit=60.0),
        job(8e13, "far", limit=60.0),
    ]
    elsewhere = {
        ("known", "cpu"): Rate(2.0, most_work=8e12),
        ("far", "cpu"): Rate(2.0, 1e-12, most_work=7e12),
    }
    found = estimate(jobs, elsewhere, [limits(1)], overhead=0.0)
    sources = found["sources"].set_index("source")
    assert dict(sources["hours"] * 3600) == pytest.approx(
        {MEASURED: 7, OPERATIONS: 38.4, LIMIT: 30, ELSEWHERE: 2, FAR: 60}
    )
    cost = found["cost"].iloc[0]
    assert (cost.paper, cost.stage, cost.jobs) == ("paper", "stage", 5)
    assert cost.gpu_hours * 3600 == pytest.approx(38.4)  # 30 + .4 + 1,000 steps of 8 ms
    assert cost.cpu_hours * 3600 == pytest.approx(14 + 38.4 + 30 + 2 + 60)
    assert found["wall_time"]["wall_hours"][0] * 3600 == pytest.approx(60)
    text = as_text(found)
    assert all(word in text for word in ("total", "gpu_hours", "disk_gb", LIMIT))
    assert as_text(estimate([], {}, [limits(1)])) == "Nothing is left to run."


def test_rates_can_be_written_and_read(tmp_path):
    rates = {("train", "gpu"): Rate(60, 2.5e-14, 1.25, 3, 5), ("draw", "cpu"): Rate(2)}
    write_rates(rates, tmp_path / "rates.csv")
    assert read_rates(tmp_path / "rates.csv") == rates
    (tmp_path / "rates.csv").write_text("rule,device\ntrain,gpu\n")
    with pytest.raises(DataError, match="line 2"):
        read_rates(tmp_path / "rates.csv")
    shipped = read_rates(ROOT / "resources/prediction/rates.csv")
    assert all(math.isfinite(rate.start) for rate in shipped.values())

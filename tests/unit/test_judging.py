"""The published measurements of a run give its verdicts and intervals again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from toy_claims import LANGUAGES, REPORTED, claim

from mbert_atlas.analysis.measurements import write_measurements
from mbert_atlas.scorecard.cells import measured_cells, write_csv
from mbert_atlas.scorecard.claims import Claims
from mbert_atlas.scorecard.judging import Judging, differing
from mbert_atlas.scorecard.results import Results
from mbert_atlas.scorecard.verdicts import HOLDS_SO_FAR, NOT_APPLICABLE, read_verdicts, verdicts

RANDOM = np.random.default_rng(3)
SHARED = RANDOM.standard_normal(400)  # of all runs on the same items
STATED = Claims.model_validate(
    {
        "gates": {
            "learned": {
                "otherwise": "at chance",
                "of": {"artifact": "table2", "metric": "accuracy"},
                "effect": {"plus": {"condition": "original"}},
                "expect": {"above": 40},
            },
        },
        "differences": [
            {
                "of": {"artifact": "table1", "metric": "gain"},
                "score": {"metric": "accuracy"},
                "reference": {"metric": "accuracy", "condition": "original"},
            }
        ],
        "claims": {
            "helps": claim(needs=["learned"]),
            "gains": claim(of={"metric": "gain"}, effect={"plus": {"condition": "replayed"}}),
            "high": claim(effect={"plus": {"condition": "original"}}, expect={"above": 45}),
            "scale": claim(needs_paper_scale=True),
        },
    }
)


def row(condition: str, value: float, seed: int, **more: Any) -> dict[str, Any]:
    """A number whose resamples are nearly those of all others."""
    noise = SHARED + 0.2 * RANDOM.standard_normal(400)
    place = {"task": "nli", "model": "mbert", "source": "en", "target": "ru", "metric": "accuracy"}
    place |= {"artifact": "table1", "condition": condition, "seed": seed, "n": 1000}
    return place | {"value": value, "resampled": (value + noise).astype(np.float32)} | more


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The adjusted run has one seed; no claim is about others, but they are in its pool."""
    folder = tmp_path / "run"
    rows = [row("original", 50 + seed / 10, seed) for seed in (1, 2, 3, 4)]
    rows += [row("adjusted", 54.1, 1), row("replayed", 4.25, 1, metric="gain")]
    rows += [row("other", 48 + 2 * seed, seed) for seed in (1, 2)]
    rows += [row("other", 40 - seed, seed, target="hi") for seed in (1, 2)]
    rows += [row("other", 1.0, seed, metric="unused") for seed in (1, 2)]
    gate = [row("original", 50 + seed, seed, artifact="table2") for seed in (1, 2)]
    (folder / "measurements/toy2020").mkdir(parents=True)
    for name, some in (("table1", rows), ("table2", gate)):
        write_measurements(some, folder / f"measurements/toy2020/{name}.csv", paper="toy2020")
    (folder / "reported.csv").write_text(REPORTED)
    return folder


def results_of(run: Path, judging: Judging) -> Results:
    files = Results(run, "run", pd.DataFrame({"paper": ["toy2020"]}), {})
    measurements, resamples = judging.files(files)
    claims = verdicts(
        judging.claims,
        *(measurements, judging.reported, resamples),
        languages=LANGUAGES,
        comparable=False,
    )
    write_csv(claims, run / "claims.csv")
    return replace(files, claims=read_verdicts(run / "claims.csv"))


@pytest.fixture
def judging(run: Path) -> Judging:
    languages = dict.fromkeys(LANGUAGES, "")
    return Judging({"toy2020": STATED}, [run / "reported.csv"], languages, {})


def test_a_packed_copy_gives_the_same_verdicts(run: Path, judging: Judging, tmp_path: Path) -> None:
    results = results_of(run, judging)
    copy = tmp_path / "copy"
    copy.mkdir()
    judging.pack(results, copy)
    packed = replace(results, folder=copy)
    claims, again = results.claims, judging.again(packed)
    assert differing(claims, again) == []
    assert set(claims["verdict"]) >= {HOLDS_SO_FAR, NOT_APPLICABLE}
    write_csv(again, copy / "claims.csv")
    again = read_verdicts(copy / "claims.csv")
    numbers = ["effect", "low", "high", "p", "q", "reported"]
    same = [name for name in claims if name not in {*numbers, "detectable", "seeds_to_decide"}]
    pd.testing.assert_frame_equal(again[same], claims[same])
    pd.testing.assert_frame_equal(again[numbers], claims[numbers], rtol=2e-3)


def test_a_packed_copy_has_all_measurements_and_the_resamples_that_claims_need(
    run: Path, judging: Judging, tmp_path: Path
) -> None:
    judging.pack(results_of(run, judging), tmp_path)
    measured, _ = judging.files(Results(run, "", pd.DataFrame(), {}))
    packed = measured_cells(
        [tmp_path / "measurements.csv.xz"], [tmp_path / "measurements.resamples.parquet"]
    )
    for protocol, cells in measured_cells(measured).items():
        assert {key: cell.values for key, cell in packed[protocol].items()} == {
            key: cell.values for key, cell in cells.items()
        }
        assert {(key[4], key[8]) for key, cell in packed[protocol].items() if cell.resampled} == {
            *(("original", "accuracy"), ("adjusted", "accuracy"), ("replayed", "gain")),
            ("other", "accuracy"),  # one seed of adjusted: the ratio is that of its pool
        }
        for key, cell in packed[protocol].items():
            for seed, values in cell.resampled.items():
                assert np.std(values - cells[key].values[seed]) == pytest.approx(1, abs=0.1)


def test_other_measurements_are_noticed(run: Path, judging: Judging, tmp_path: Path) -> None:
    results = results_of(run, judging)
    path = run / "measurements/toy2020/table1.csv"
    path.write_text(path.read_text().replace("54.1", "54.3"))
    names = differing(results.claims, judging.again(results))
    assert {"toy2020/helps (published)", "toy2020/helps (corrected)"} <= {*names}
    assert not any("high" in name for name in names)


def test_highlights_are_judged_by_their_measurements(run: Path, judging: Judging) -> None:
    from toy_results import PAPERS  # a plan whose table1 is a highlight

    some = replace(judging, papers={"toy2020": PAPERS["toy2020"]})
    measurements, resamples = some.files(Results(run / "highlights", "", pd.DataFrame(), {}))
    assert [path.name for path in measurements] == ["table1.csv"]
    assert [path.name for path in resamples] == ["table1.resamples.parquet"]

"""Every number and every claim of the papers has a measurement in the paper preset, or a reason.

And no claim holds if an encoder learned nothing, whichever measurement it is about.
"""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
import untrained
from configs import CODES, LANGUAGES, ROOT
from planned_files import PlannedFiles, paper_preset

from mbert_atlas import papers
from mbert_atlas.plan.plan import CLAIMS, REPORTED, Plan
from mbert_atlas.scorecard.cells import KEY, CellLine, Key, Measured, measured_cells, read_cells
from mbert_atlas.scorecard.claims import Claims, cells_of, read_claims
from mbert_atlas.scorecard.judging import used_cells
from mbert_atlas.scorecard.verdicts import NOT_APPLICABLE, NOT_RUN, verdicts

MOST_LISTED = 30


def measured(
    files: PlannedFiles, artifacts: set[str] | None = None
) -> dict[str, dict[Key, Measured]]:
    """What a plan (or some artifacts of it, ``paper/name``) measures, by protocol."""
    paths = [
        files.measurement(key)
        for key, (paper, artifact) in files.plan.artifact_of.items()
        if key in files.plan.measurements
        if artifacts is None or f"{paper}/{artifact.name}" in artifacts
    ]
    return measured_cells(paths)


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[Key, Measured]]:
    return measured(paper_preset(tmp_path_factory))


def listed() -> list[CellLine]:
    return list(read_cells([ROOT / "resources/not_reproducible.csv"], (*KEY, "reason")))


def test_every_reported_number_is_measured_or_listed(
    planned: dict[str, dict[Key, Measured]],
) -> None:
    paths = [ROOT / REPORTED.format(paper) for paper in papers.names()]
    numbers = {line.key for line in read_cells(paths)}
    exempt = {line.key for line in listed()}
    by_protocol = [*map(set, planned.values())]
    covered = numbers & set.intersection(*by_protocol)
    print(f"{len(numbers)} = {len(covered)} covered + {len(exempt)} listed")
    for wrong in (numbers - covered - exempt, exempt & set.union(*by_protocol)):
        assert not wrong, "\n".join(sorted(map(",".join, wrong)))
    assert exempt <= numbers
    assert len(exempt) <= MOST_LISTED


def test_numbers_that_need_a_file_of_the_config_are_measured_with_it(tmp_path: Path) -> None:
    needed: dict[str, set[Key]] = {}
    for line in listed():
        reason = line.fields["reason"]
        assert reason
        for name in re.findall(r"config/\S+[.]yaml", reason):
            needed.setdefault(name, set()).add(line.key)
    assert needed
    for name, keys in needed.items():
        artifacts = {"/".join(key[:2]) for key in keys}
        plan = Plan(papers.load([ROOT / name], ROOT), LANGUAGES, home=ROOT)
        cells = measured(PlannedFiles(plan, tmp_path), artifacts)
        assert all(keys <= some.keys() for some in cells.values())


@pytest.mark.parametrize("paper", papers.names())
def test_no_claim_is_not_run_by_construction(
    paper: str, planned: dict[str, dict[Key, Measured]]
) -> None:
    """Where its numbers are not listed: then it has their reason."""
    path = ROOT / CLAIMS.format(paper)
    read = read_claims(path, paper, ROOT / REPORTED.format(paper))
    exempt = {line.key for line in listed()}
    not_run = [
        name
        for name, claim in read.claims.items()
        if not all(cells_of(claim, paper, cells.keys() | exempt) for cells in planned.values())
    ]
    assert not_run == []


@pytest.mark.parametrize("level", [0.0, 1.0])
@pytest.mark.parametrize("paper", papers.names())
def test_an_encoder_that_learned_nothing_confirms_no_claim(
    paper: str, level: float, planned: dict[str, dict[Key, Measured]], tmp_path: Path
) -> None:
    """All conditions are equal and known to a tenth of a point, and all references at chance.

    So whatever says "no change" would hold, and only its gates keep it from that.
    """
    path, reported = tmp_path / "m.csv", ROOT / REPORTED.format(paper)
    stated = read_claims(ROOT / CLAIMS.format(paper), paper, reported)
    cells = [
        (protocol, key, some[key])
        for protocol, some in planned.items()
        for key in sorted(used_cells(stated, paper, some))
    ]
    untrained.write(cells, level, path)

    def verdict_of(claims: Claims) -> pd.Series[str]:
        frame = verdicts({paper: claims}, [path], [reported], languages=CODES, comparable=False)
        return frame.set_index("id")["verdict"]

    found = verdict_of(stated)
    assert not {*found.index[found.str.startswith("holds")]}
    gated = found.index.isin([name for name, claim in stated.claims.items() if claim.needs])
    assert {*found[gated]} <= {NOT_APPLICABLE, NOT_RUN}
    free = {name: claim.model_copy(update={"needs": []}) for name, claim in stated.claims.items()}
    assert verdict_of(stated.model_copy(update={"claims": free})).str.startswith("holds").any()

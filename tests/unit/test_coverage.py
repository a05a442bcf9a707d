"""Every number and every claim of the papers has a measurement in the paper preset, or a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from configs import LANGUAGES, ROOT
from planned_files import PlannedFiles

from mbert_atlas import papers
from mbert_atlas.plan.plan import CLAIMS, REPORTED, Plan
from mbert_atlas.scorecard.cells import KEY, CellLine, Key, measured_cells, read_cells
from mbert_atlas.scorecard.claims import cells_of, read_claims

MOST_LISTED = 30


def measured(folder: Path, *overlays: Path, artifacts: set[str] | None = None) -> list[set[Key]]:
    """What the paper preset (or some artifacts of it, ``paper/name``) measures, by protocol."""
    plan = Plan(papers.load(overlays, ROOT), LANGUAGES, home=ROOT)
    files = PlannedFiles(plan, folder)
    paths = [
        files.measurement(key)
        for key, (paper, artifact) in plan.artifact_of.items()
        if key in plan.measurements
        if artifacts is None or f"{paper}/{artifact.name}" in artifacts
    ]
    return [set(cells) for cells in measured_cells(paths).values()]


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> list[set[Key]]:
    return measured(tmp_path_factory.mktemp("planned"))


def listed() -> list[CellLine]:
    return list(read_cells([ROOT / "resources/not_reproducible.csv"], (*KEY, "reason")))


def test_every_reported_number_is_measured_or_listed(planned: list[set[Key]]) -> None:
    paths = [ROOT / REPORTED.format(paper) for paper in papers.names()]
    numbers = {line.key for line in read_cells(paths)}
    exempt = {line.key for line in listed()}
    covered = numbers & set.intersection(*planned)
    print(f"{len(numbers)} = {len(covered)} covered + {len(exempt)} listed")
    for wrong in (numbers - covered - exempt, exempt & set.union(*planned)):
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
        assert keys <= set.intersection(*measured(tmp_path, ROOT / name, artifacts=artifacts))


@pytest.mark.parametrize("paper", papers.names())
def test_no_claim_is_not_run_by_construction(paper: str, planned: list[set[Key]]) -> None:
    """Where its numbers are not listed: then it has their reason."""
    path = ROOT / CLAIMS.format(paper)
    read = read_claims(path, paper, ROOT / REPORTED.format(paper))
    exempt = {line.key for line in listed()}
    not_run = [
        name
        for name, claim in read.claims.items()
        if not all(cells_of(claim, paper, keys | exempt) for keys in planned)
    ]
    assert not_run == []

"""The files around the code agree with each other and with the code."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def _name(requirement: str) -> str:
    """The normalised distribution name at the start of a requirement."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found, f"not a requirement: {requirement!r}"
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def _lines(path: Path) -> list[str]:
    bare = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    return [line for line in bare if line]


def _direct() -> set[str]:
    return {_name(line) for line in _lines(ROOT / "requirements.in")}


def _lock() -> dict[str, str]:
    """Name to version; fails on a line that is not an exact pin, which pip could change."""
    pins = {}
    for line in _lines(ROOT / "requirements.lock"):
        name, separator, version = line.partition(";")[0].partition("==")
        assert separator, f"requirements.lock: {line!r} is no exact pin"
        assert re.fullmatch(r"[0-9a-z.!]+", version), f"requirements.lock: {line!r} is no exact pin"
        assert _name(name) not in pins, f"requirements.lock pins {name} twice"
        pins[_name(name)] = version
    return pins


def test_lock_pins_every_direct_dependency() -> None:
    assert _direct() - set(_lock()) == set()


def test_lock_satisfies_the_bounds_of_requirements_in() -> None:
    pins = _lock()
    for line in _lines(ROOT / "requirements.in"):
        if "==" in line:
            assert pins[_name(line)] == line.partition(";")[0].partition("==")[2], line


def test_lock_is_closed_under_dependencies() -> None:
    """What a pinned package needs here is pinned too; nothing installs a different version."""
    from packaging.requirements import Requirement

    pins = _lock()
    loose = set()
    for name in pins:
        for text in metadata.distribution(name).requires or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                needed = _name(requirement.name)
                if needed not in pins:
                    loose.add(f"{name} needs {needed}")
    assert loose == set()


@pytest.mark.parametrize("folder", ["mbert_atlas", "workflow", "tests", "benchmarks"])
def test_every_import_is_a_direct_dependency(folder: str) -> None:
    """A package that happens to come along with another one is not relied on."""
    by_module = metadata.packages_distributions()
    places = ["tests", "benchmarks"] if folder in ("tests", "benchmarks") else [folder]
    ours = {path.stem for name in places for path in (ROOT / name).rglob("*.py")}
    unlisted = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                modules = [node.module]
            else:
                continue
            for module in {module.partition(".")[0] for module in modules}:
                if module in sys.stdlib_module_names or module in ours | {
                    "mbert_atlas",
                    "workflow",
                }:
                    continue
                if not {_name(item) for item in by_module.get(module, [])} & _direct():
                    unlisted.add(f"{path.relative_to(ROOT)} imports {module}")
    assert unlisted == set()


def test_conda_environment_pins_what_the_lock_pins() -> None:
    environment = yaml.safe_load((ROOT / "envs/mbert-atlas.yaml").read_text())
    (pip,) = [item["pip"] for item in environment["dependencies"] if isinstance(item, dict)]
    pins = _lock()
    bare = [line.partition(";")[0] for line in pip]
    assert bare == [f"{line.partition('==')[0]}=={pins[_name(line)]}" for line in bare]
    lock = _lines(ROOT / "requirements.lock")
    assert [line for line in pip if ";" in line] == [line for line in lock if ";" in line]
    runtime = (ROOT / "requirements.in").read_text().partition("# development")[0]
    expected = {_name(line) for line in runtime.splitlines() if line and line[0] != "#"}
    assert {_name(line) for line in pip} == {n for n in expected if "snakemake" not in n}
    assert (ROOT / "envs/mbert-atlas.lock").read_text() == (ROOT / "requirements.lock").read_text()


def test_citation_names_five_papers_and_this_version() -> None:
    import mbert_atlas

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == mbert_atlas.__version__
    cited = {re.search(r"Short name (\w+)", item["notes"])[1] for item in citation["references"]}
    reported = {path.stem for path in (ROOT / "resources/reported").glob("*.csv")}
    assert cited == reported
    for paper in citation["references"]:
        assert paper["authors"]
        assert paper.get("doi") or paper.get("identifiers"), paper["title"]


def test_makefile_help_lists_every_target() -> None:
    shown = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    for target in phony[1].split():
        assert re.search(rf"^{target}\s+\S", shown, re.MULTILINE), target


@pytest.mark.parametrize("profile", ["slurm", "local"])
def test_profiles_leave_the_code_trigger_out(profile: str) -> None:
    """Script times are new in a clone; the rules' params carry fingerprints instead."""
    settings = yaml.safe_load((ROOT / profile / "config.yaml").read_text())
    assert set(settings["rerun-triggers"]) == {"mtime", "params", "input", "software-env"}


def test_no_profile_is_loaded_unasked() -> None:
    assert not (ROOT / "profiles").exists()
    assert not (ROOT / "workflow/profiles").exists()


def test_links_between_documents_exist() -> None:
    broken = set()
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.add(f"{page.relative_to(ROOT)}: {target}")
    assert broken == set()

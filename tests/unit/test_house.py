"""The house stands as docs/design.md draws it: arrows point one way, and a paper is one place."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

from mbert_atlas import papers

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "mbert_atlas"
PAPERS = sorted(path.stem for path in (ROOT / "resources/reported").glob("*.csv"))
CODE = (
    ".py",
    ".smk",
    ".j2",
    ".rst",
    ".yaml",
    ".json",
    ".toml",
    ".sh",
    ".in",
    "Snakefile",
    "Makefile",
)


def rooms() -> list[str]:
    """The rooms of the package in the order of the table in docs/design.md."""
    text = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    table = text.partition("| room | holds |")[2].partition("\n\n")[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


def imports() -> dict[str, set[str]]:
    """Every module of the package with the modules of the package that it imports, wherever."""
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
    }
    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        targets = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}, line {node.lineno}: write the whole module path"
                whole = {f"{node.module}.{alias.name}" for alias in node.names} & set(modules)
                targets |= whole or {str(node.module)}
        found[name] = (targets & set(modules)) - {name}
    return found


def room_of(module: str) -> str | None:
    """The room that a module lies in; none for the small ones below all rooms."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and (PACKAGE / parts[1]).is_dir() else None


def test_every_folder_of_the_package_is_a_room_of_the_design() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert len(rooms()) == len(folders)
    assert set(rooms()) == folders


def test_no_arrow_climbs() -> None:
    height = {room: place for place, room in enumerate(rooms(), 1)} | {None: 0}
    climbing = [
        f"{module} imports {target}"
        for module, targets in imports().items()
        for target in targets
        if module != "mbert_atlas" and height[room_of(target)] > height[room_of(module)]
    ]
    assert climbing == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph, done = imports(), set[str]()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path[path.index(module) :], module])
        if module not in done:
            for target in graph[module]:
                visit(target, (*path, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_papers_do_not_know_each_other() -> None:
    for module, targets in imports().items():
        if room_of(module) == "papers":
            own = ".".join(module.split(".")[:3])
            others = {t for t in targets if room_of(t) == "papers" and t != "mbert_atlas.papers"}
            assert all(target.startswith(own) for target in others), module


def test_only_the_workflow_imports_snakemake() -> None:
    assert [
        path.name
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^\s*(import|from) snakemake", path.read_text(encoding="utf-8"), re.MULTILINE)
    ] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_no_other_code_names_a_paper(paper: str) -> None:
    """Config, rules, scripts, science, tests and reported numbers of a paper lie under its name."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    naming = [
        name
        for name in listed
        if name.endswith(CODE)
        and paper not in name
        and (ROOT / name).is_file()
        and paper in (ROOT / name).read_text(encoding="utf-8")
    ]
    assert naming == []


def test_papers_are_found_by_their_folder() -> None:
    assert set(papers.names()) <= set(PAPERS)
    assert set(papers.names()) == {
        path.parent.name for path in (PACKAGE / "papers").glob("*/__init__.py")
    }

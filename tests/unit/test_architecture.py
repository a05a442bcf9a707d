"""The code has the architecture of docs/design.md: imports point one way, papers are separate."""

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


def table(header: str) -> list[list[str]]:
    """Cells in backquotes of every row of a table in docs/design.md."""
    text = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    rows = text.partition(header)[2].partition("\n\n")[0]
    return [re.findall(r"`([^`]+)`", row) for row in rows.splitlines()[2:]]


def subpackages() -> list[str]:
    """The subpackages in the order in which they may import each other."""
    return [row[0] for row in table("| subpackage | holds |")]


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


def subpackage_of(module: str) -> str | None:
    """The subpackage of a module; none for modules at the top level."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and (PACKAGE / parts[1]).is_dir() else None


def test_the_page_lists_every_subpackage() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert sorted(subpackages()) == sorted(folders)


def test_imports_point_one_way() -> None:
    order = {name: place for place, name in enumerate(subpackages(), 1)} | {None: 0}
    wrong = [
        f"{module} imports {target}"
        for module, targets in imports().items()
        for target in targets
        if module not in ("mbert_atlas", "mbert_atlas.__main__", "mbert_atlas.api")
        and order[subpackage_of(target)] > order[subpackage_of(module)]
    ]
    assert wrong == []


def test_no_imports_are_circular() -> None:
    graph, done = imports(), set[str]()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path[path.index(module) :], module])
        if module not in done:
            for target in graph[module]:
                visit(target, (*path, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_papers_do_not_import_each_other() -> None:
    for module, targets in imports().items():
        if subpackage_of(module) == "papers":
            paper = ".".join(module.split(".")[:3])
            allowed = ("mbert_atlas.papers", *(t for t in targets if t.startswith(paper)))
            assert all(t in allowed for t in targets if subpackage_of(t) == "papers"), module


def test_only_the_workflow_imports_snakemake() -> None:
    assert [
        path.name
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^\s*(import|from) snakemake", path.read_text(encoding="utf-8"), re.MULTILINE)
    ] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_no_other_code_names_a_paper(paper: str) -> None:
    """All files of a paper have its name in their path."""
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
        and not name.startswith("docs/results/")
        and paper not in name
        and (ROOT / name).is_file()
        and paper in (ROOT / name).read_text(encoding="utf-8")
    ]
    assert naming == []


@pytest.mark.parametrize("stop", table("| stop | file | name |"), ids=lambda stop: "-".join(stop))
def test_the_traced_example_exists(stop: list[str]) -> None:
    file, name = stop
    assert name in (ROOT / file).read_text(encoding="utf-8")


def test_papers_are_discovered_by_their_folder() -> None:
    assert set(papers.names()) <= set(PAPERS)
    assert set(papers.names()) == {
        path.parent.name for path in (PACKAGE / "papers").glob("*/__init__.py")
    }


RULES = sorted((ROOT / "workflow/rules").glob("*.smk"))


def test_rules_are_literal() -> None:
    """Rule files define nothing and are short."""
    texts = [path.read_text(encoding="utf-8") for path in RULES]
    assert sum(map(str.count, texts, "\n" * len(texts))) <= 1420
    assert sum(text.count("lambda") for text in texts) <= 60
    for text in texts:
        assert not re.search(r"^\s*(def|class) |^[A-Z_]+ \|?= ", text, re.MULTILINE), text[:80]


def test_every_rule_has_its_script() -> None:
    """Named like the rule, as is the code of its fingerprint; a paper has a folder of them."""
    block = r'^ *rule (\w+):\n((?: .*\n|\n)*?) +script:\n +"\.\./scripts/([\w/]+)\.py"'
    code = re.compile(r'code=(?:plan\.code\(|job\(plan\.dataset_code, script=)"([\w.]+)"')
    scripts = {"miniature"}  # a rule with a computed name
    for path in RULES:
        folder = f"{path.stem}/" if path.stem in PAPERS else ""
        for name, text, script in re.findall(block, path.read_text(), re.MULTILINE):
            named = {found.replace(".", "/") for found in code.findall(text)}
            assert {f"{folder}{name}", *named} == {script}
            scripts.add(script)
    base = ROOT / "workflow/scripts"
    assert {str(path.relative_to(base).with_suffix("")) for path in base.rglob("*.py")} == scripts


@pytest.mark.parametrize(
    "path", [*PACKAGE.rglob("*.py"), *(ROOT / "workflow").rglob("*.py")], ids=lambda path: path.name
)
def test_files_and_functions_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, node.name

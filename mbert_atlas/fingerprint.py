"""A fingerprint of the code that a result depends on.

Snakemake reruns a job when its parameters change but does not look into imported modules, and its
own ``code`` trigger goes by file times, which a fresh clone changes. A fingerprint among the
parameters does both right: it follows imports; comments, docstrings and formatting do not count.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parent
# These say how things are told or set up, never what comes out.
_IGNORED = {"mbert_atlas.errors", "mbert_atlas.progress"}
_IGNORED_SIBLINGS = {"atlas_job"}


def fingerprint(script: Path | str) -> str:
    """Return a hash of a script, of the files beside it and the modules of this package it imports.

    Args:
        script: path of the Python file to start from.

    Returns:
        Sixteen hexadecimal digits.
    """
    scripts = [Path(script), *_siblings(Path(script))]
    digest = hashlib.sha256("".join(_content(path) for path in scripts).encode())
    for module in sorted(_closure(scripts)):
        digest.update(f"{module}={_content(_file(module))}".encode())
    return digest.hexdigest()[:16]


def _siblings(script: Path) -> list[Path]:
    names = {
        node.module
        for node in ast.walk(_tree(script))
        if isinstance(node, ast.ImportFrom) and node.module
    }
    beside = [script.with_name(f"{name}.py") for name in sorted(names - _IGNORED_SIBLINGS)]
    return [path for path in beside if path.is_file()]


def _closure(scripts: list[Path]) -> set[str]:
    reached: set[str] = set()
    waiting = [module for script in scripts for module in _imports(script)]
    while waiting:
        module = waiting.pop()
        if module not in reached and module not in _IGNORED:
            reached.add(module)
            waiting.extend(_imports(_file(module)))
    return reached


def _file(module: str) -> Path:
    path = _PACKAGE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def _imports(path: Path) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    ours = {name for name in found if name.startswith("mbert_atlas.")}
    return frozenset(name for name in ours if _file(name).is_file())


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _content(path: Path) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
    return ast.dump(tree)

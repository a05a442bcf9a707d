"""A fingerprint of the code that a result depends on.

Snakemake reruns a job when its parameters change but does not look into imported modules, and its
own ``code`` trigger goes by file times, which a fresh clone changes. A fingerprint among the
parameters does both right. It reads code without running it and follows names: from a script to the
functions, classes and constants that it uses, to those that they use, and so on.

- A function, a class (whole, as methods are called by way of objects) or an assignment counts if it
  is reached. What else a module does on import (calls, loops, ``X[...] = ...``, functions that our
  own code decorates) counts if the module is imported, be it by others.
- A module that is handed about as an object counts whole, a package with its files that are no
  code; so do modules that a string names, or that ``import_module(f"...")`` can mean.
- Comments, docstrings, formatting, annotations of functions and local variables, ``TYPE_CHECKING``
  blocks and descriptions of pydantic fields don't count.

What Python does by itself with subclasses, annotations or names in strings (``__init_subclass__``,
``get_type_hints``, ``globals()``) can't be followed; a test keeps it out of the package.

``python -m mbert_atlas.fingerprint SCRIPT`` prints what the fingerprint of a script is made of.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mbert_atlas.errors import AtlasError
from mbert_atlas.files import read_json, write_json

_ROOT = Path(__file__).resolve().parents[1]
_PACKAGE, _OURS = "mbert_atlas", ("mbert_atlas", "workflow")
# These say how things are told or set up, never what comes out.
_IGNORED = re.compile(r"mbert_atlas\.(errors|progress)|(workflow\.scripts\.)?atlas_job")
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def fingerprint(script: Path | str, root: Path = _ROOT) -> str:
    """Return a hash of a script and of all code that it can reach.

    Args:
        script: path of the Python file to start from.
        root: folder of the packages ``mbert_atlas`` and ``workflow``.

    Returns:
        Sixteen hexadecimal digits.

    Raises:
        FileNotFoundError: if there is no such script.
    """
    text = "\n".join(f"{label}={content}" for label, content in _reached(script, root))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def fingerprints(folder: Path, kept: Path, root: Path = _ROOT) -> dict[str, str]:
    """Return the fingerprints of all scripts in a folder; reading all the code takes seconds.

    Args:
        folder: of scripts, and of folders of them.
        kept: a JSON file with the result, used while all files of the code have the sizes and
            times that they had; written again otherwise, if it can be.
        root: see :func:`fingerprint`.

    Returns:
        By path below ``folder``, without ``.py``.
    """
    stats = {
        str(path): path.stat()
        for path in sorted(each for name in _OURS for each in (root / name).rglob("*"))
        if "__pycache__" not in path.parts
    }
    state = [sys.version, *([path, it.st_size, it.st_mtime_ns] for path, it in stats.items())]
    digest = hashlib.sha256(json.dumps(state).encode()).hexdigest()
    with suppress(OSError, AtlasError, ValueError, KeyError, TypeError):
        before = read_json(kept)
        if before["state"] == digest:
            return dict(before["fingerprints"])
    found = {
        path.relative_to(folder).with_suffix("").as_posix(): fingerprint(path, root)
        for path in sorted(folder.rglob("*.py"))
        if not _IGNORED.fullmatch(path.stem)
    }
    with suppress(OSError, AtlasError):
        write_json({"state": digest, "fingerprints": found}, kept)
    return found


def explain(script: Path | str, root: Path = _ROOT) -> list[str]:
    """Return what a fingerprint is made of, as ``module:name``, sorted.

    ``module:`` is what a module does on import, ``module:*`` a module that is used as an object.
    """
    return [label for label, _ in _reached(script, root)]


def _reached(script: Path | str, root: Path) -> list[tuple[str, str]]:
    """Return every label that is reached, with its content, sorted."""
    code = _code(root, Path(script).parent)
    if code.module(Path(script).stem) is None:
        raise FileNotFoundError(script)
    found: dict[str, str] = {}
    waiting = [f"{Path(script).stem}:*"]
    while waiting:
        label = waiting.pop()
        if label not in found:
            found[label], more = code.open(label)
            waiting.extend(more)
    return sorted(item for item in found.items() if item[1])


class _Import(NamedTuple):
    bound: str  # the name in this module, or ""
    module: str
    item: str  # what of the module, or "" for the module itself


class _Code:
    """The code that scripts of one folder can reach, by label; see :func:`explain`."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root, self._folder = root, folder
        self._opened: dict[str, tuple[str, set[str]]] = {}
        self._modules: dict[str, _Module | None] = {}

    def open(self, label: str) -> tuple[str, set[str]]:
        """Return the content of a label ("" if it has none), and the labels that it leads to."""
        if label not in self._opened:
            name, _, item = label.partition(":")
            module = self.module(name)
            self._opened[label] = self._read(module, item) if module else ("", set())
        return self._opened[label]

    def _read(self, module: _Module, item: str) -> tuple[str, set[str]]:
        name = module.name
        bound: list[tuple[str, set[str]]] = []
        more = {f"{name}:"}
        if item == "*":
            more |= {f"{name}:{each}" for each in module.definitions}
            bound = [(each, self._targets(module, each, [])) for each in module.imports if each]
        elif item == "":  # on import: the package around it, its imports, what else it does
            more = self._run([each for found in module.imports.values() for each in found])
            more.add(f"{name.rpartition('.')[0]}:")
        texts = module.data() if item == "*" else []
        for uses in module.uses(item):
            texts.append(uses.text)
            more |= self._run(uses.imports)
            bound += [(each, self._targets(module, each, uses.imports)) for each in uses.names]
            bound += [(glob, self._matching(glob)) for glob in uses.modules]
        bindings = [f"{each}: {sorted(labels)}" for each, labels in sorted(bound) if labels]
        content = "\n".join(filter(None, texts + bindings))
        return content, more.union(*(labels for _, labels in bound))

    def _targets(self, module: _Module, dotted: str, inner: list[_Import]) -> set[str]:
        """Return the labels of a name that is used in a module, ``x`` or ``x.y.z``."""
        first, *rest = dotted.split(".")
        found = {f"{module.name}:{first}"} if first in module.definitions else set()
        for each in [
            *module.imports.get(first, []),
            *(each for each in inner if each.bound == first),
        ]:
            found |= self._find(each.module, each.item)
        for attribute in rest:
            for label in [label for label in found if label.endswith(":")]:
                found = found - {label} | self._find(label[:-1], attribute)
        return {f"{label}*" if label.endswith(":") else label for label in found}

    def _find(self, name: str, item: str) -> set[str]:
        """Return the labels of an item of a module; ``module:*`` if it is not known there."""
        module = self.module(name)
        if module is None or not item:
            return {f"{name}:{item}"}
        found = {f"{name}:{item}"} if item in module.definitions else set()
        for each in module.imports.get(item, []):
            if each[1:] != (name, item):
                found |= self._find(each.module, each.item)
        if not found and self.module(f"{name}.{item}"):
            return {f"{name}.{item}:"}
        return found or {f"{name}:*"}

    def _run(self, imports: Iterable[_Import]) -> set[str]:
        """Return the labels of the modules that imports execute."""
        found = {f"{each.module}:{'*' if each.item == '*' else ''}" for each in imports}
        return found | {f"{each.module}.{each.item}:" for each in imports}

    def _matching(self, glob: str) -> set[str]:
        """Return the labels of the modules whose name fits a pattern, or else a part of it."""
        names = {
            ".".join(path.relative_to(self._root).with_suffix("").parts).removesuffix(".__init__")
            for path in (self._root / _PACKAGE).rglob("*.py")
        }
        fits = {f"{name}:*" for name in names if fnmatchcase(name, glob) and self.module(name)}
        return fits or (self._matching(glob.rpartition(".")[0]) if "." in glob else set())

    def module(self, name: str) -> _Module | None:
        """Return a module of ours by name; none for others, and for those that don't count."""
        if name not in self._modules:
            ours = name.partition(".")[0] in _OURS
            path = (self._root if ours else self._folder).joinpath(*name.split("."))
            files = [path / "__init__.py", path.parent / f"{path.name}.py"]
            file = next((file for file in files if name and file.is_file()), None)
            known = file is not None or (ours and path.is_dir())
            ignored = _IGNORED.fullmatch(name)
            self._modules[name] = _module(name, file) if known and not ignored else None
        return self._modules[name]


_code = cache(_Code)


class _Module:
    """A module's statements and imports, by the names that they bind; "" for effects on import.

    Args:
        name: its name.
        path: its file; none for a folder without ``__init__.py``.
    """

    def __init__(self, name: str, path: Path | None) -> None:
        self.name = name
        self.folder = path.parent if path and path.name == "__init__.py" else None
        self.imports: dict[str, list[_Import]] = defaultdict(list)
        self._statements: dict[str, list[ast.stmt]] = defaultdict(list)
        body = ast.parse(path.read_text(encoding="utf-8")).body if path else []
        for statement in body:
            names = _names_bound(statement)
            for bound in names:
                self._statements[bound].append(statement)
            if not names or "" in names:
                for found in _uses(self, statement).imports:
                    self.imports[found.bound].append(found)
        self.definitions = self._statements.keys() - {""}
        registered = [each for each in body if self._is_registered(each)]
        self._statements[""] += registered

    def uses(self, item: str) -> list[_Uses]:
        """Return what the statements of a definition use, or those that act on import ("")."""
        return [_uses(self, statement) for statement in self._statements.get(item, [])]

    def data(self) -> list[str]:
        """Return digests of the files beside a package that are no code, such as templates."""
        files = sorted(self.folder.iterdir()) if self.folder else []
        data = [path for path in files if path.is_file() and path.suffix != ".py"]
        return [f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in data]

    def _is_registered(self, statement: ast.stmt) -> bool:
        decorators = statement.decorator_list if isinstance(statement, _Definition) else []
        nodes = [node for each in decorators for node in ast.walk(each)]
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        sources = [each.module for name in names for each in self.imports.get(name, [])]
        ours = [source for source in sources if source.partition(".")[0] in _OURS]
        return bool(ours or names & self.definitions)


_module = cache(_Module)


def _names_bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement defines, and "" if it does anything else."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return set()
    if isinstance(statement, _Definition):
        return {statement.name}
    found = set() if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign) else {""}
    for node in ast.walk(statement):
        if isinstance(node, _Definition):
            found.add(node.name)
        elif isinstance(getattr(node, "ctx", None), ast.Store):
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Attribute | ast.Subscript):
                found.add("")
    return found


class _Uses:
    """What a statement says, without what no result depends on, and what it uses.

    Attributes:
        text: the statement, independent of its formatting.
        names: names that it reads, as ``x`` or ``x.y.z``.
        imports: imports inside of it.
        modules: patterns for names of modules that it may import by a string.
    """

    def __init__(self, module: _Module, statement: ast.stmt) -> None:
        self.names: set[str] = set()
        self.imports: list[_Import] = []
        self.modules: set[str] = set()
        self._module, self._parts = module, list[str]()
        self._read(statement, in_class=False)
        self.text = " ".join(self._parts)

    def _read(self, node: ast.AST, in_class: bool) -> None:
        """Take in a node; ``in_class`` for the statements of a class outside of its methods."""
        dropped: set[str] = set()
        match node:
            case ast.Attribute() | ast.Name():
                return self._read_name(node)
            case ast.Constant(value=str(text)) if text.startswith(f"{_PACKAGE}."):
                self.modules.add(text.partition(":")[0])
            case ast.Expr(value=ast.Constant()):
                return None
            case ast.If(test=ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                for statement in node.orelse:
                    self._read(statement, in_class)
                return None
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                dropped, in_class = {"returns"}, False
            case ast.ClassDef():
                in_class = True
            case ast.arg():
                dropped = {"annotation"}
            case ast.AnnAssign(annotation=annotation):
                if in_class:
                    self._read_quoted(annotation)
                else:
                    dropped = {"annotation"}
            case ast.Global(names=names):
                self.names.update(names)
            case ast.Call(func=ast.Name(called) | ast.Attribute(attr=called)):
                if called == "Field":
                    node.keywords = [each for each in node.keywords if each.arg != "description"]
                elif called in ("import_module", "__import__"):
                    self.modules |= {self._pattern(each) for each in node.args[:1]}
            case ast.Import() | ast.ImportFrom():
                self.imports += _imports(node, self._module)
        self._parts.append(type(node).__name__)
        for field in node._fields:
            value = getattr(node, field, None)
            if field not in dropped:
                self._parts.append("[")
                for each in value if isinstance(value, list) else [value]:
                    if isinstance(each, ast.AST):
                        self._read(each, in_class)
                    else:
                        self._parts.append(repr(each))
                self._parts.append("]")
        return None

    def _read_name(self, node: ast.Attribute | ast.Name) -> None:
        parts: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            parts.insert(0, inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name):
            self._read(inner, in_class=False)
        elif parts or not isinstance(inner.ctx, ast.Store):
            self.names.add(".".join([inner.id, *parts]))
        self._parts.append(".".join([inner.id if isinstance(inner, ast.Name) else "", *parts]))

    def _read_quoted(self, annotation: ast.expr) -> None:
        """Take in the names that stand in strings of an annotation."""
        for node in ast.walk(annotation):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                self.names.update(re.findall(r"[A-Za-z_][\w.]*", node.value))

    def _pattern(self, argument: ast.expr) -> str:
        """Return which modules an argument of ``import_module`` can mean."""
        if isinstance(argument, ast.Constant) and not str(argument.value).startswith("."):
            return str(argument.value)
        if not isinstance(argument, ast.JoinedStr):
            return "*"
        text = ast.unparse(argument)[2:-1].replace("{__name__}", self._module.name)
        return re.sub(r"\{[^}]*\}", "*", text)


_uses = cache(_Uses)


def _imports(node: ast.Import | ast.ImportFrom, module: _Module) -> Iterator[_Import]:
    if isinstance(node, ast.ImportFrom):
        package = [*module.name.split("."), *([""] if module.folder else [])]  # "" for __init__
        above = package[: -node.level] if node.level else []
        source = ".".join([*above, *([node.module] if node.module else [])])
        yield from (_Import(each.asname or each.name, source, each.name) for each in node.names)
        return
    for each in node.names:
        top = each.name.partition(".")[0]
        yield _Import("", each.name, "")
        yield _Import(each.asname or top, each.name if each.asname else top, "")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m mbert_atlas.fingerprint SCRIPT")
    for _label, _content in _reached(sys.argv[1], _ROOT):
        print(hashlib.sha256(_content.encode()).hexdigest()[:8], _label)

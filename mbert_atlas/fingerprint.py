"""A fingerprint of the code that a result depends on: a parameter of jobs, which rerun with it.

Names are followed, without running code, from roots to functions, classes and constants, and on.

- A function, a class (whole, as methods are called through objects) or an assignment counts if it
  is reached; what else a module does on import (calls, loops, ``X[...] = ...``), if it is imported.
- A module that is used as an object counts whole, a package with its files that are not code; so
  do modules that a string names, or that ``import_module(f"...")`` can mean.
- All entries of a :class:`mbert_atlas.registry.Registry` count, unless a root selects some of them.
- Comments, docstrings, formatting, annotations of functions and local variables, ``TYPE_CHECKING``
  blocks and descriptions of pydantic fields do not count.

What Python does implicitly with subclasses, annotations or names in strings cannot be followed; a
test keeps it out of the package. A root is a definition, such as ``mbert_atlas.tasks.qa:QA``; what
a module runs on import, such as a rule's script, ``workflow.scripts.finetune:``; or a registry and
some keys, ``mbert_atlas.tasks:TASKS[nli,qa]``, which only limits what follows.

``python -m mbert_atlas.fingerprint ROOT...`` prints what the fingerprint of roots consists of.
"""

from __future__ import annotations

import ast
import fnmatch
import hashlib
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mbert_atlas.errors import AtlasError
from mbert_atlas.files import read_json, write_json

_ROOT = Path(__file__).resolve().parents[1]
_PACKAGE, _PACKAGES = "mbert_atlas", ("mbert_atlas", "workflow")
# These decide what is reported, or how jobs start, never a result.
_IGNORED = re.compile(
    r"mbert_atlas\.(errors|progress|registry|config\.(mistakes|reading|references))"
    r"|workflow\.job"
)
_TYPING = {"TYPE_CHECKING": "orelse", "not TYPE_CHECKING": "body"}  # what runs of such a block
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Fingerprints:
    """The fingerprints of roots, computed when requested; reading code takes seconds.

    Those in the JSON file ``stored_in`` are used while all files of the code in ``root`` have the
    sizes and times that they had.
    """

    def __init__(self, root: Path = _ROOT, stored_in: Path | None = None) -> None:
        self._code, self._cache = _Code(root), stored_in
        self._state = _state(root) if stored_in else ""
        self._known: dict[str, str] = {}
        if stored_in:
            with suppress(OSError, AtlasError, ValueError, KeyError, TypeError):
                stored = read_json(stored_in)
                if stored["state"] == self._state:
                    self._known = dict(stored["fingerprints"])

    def of(self, *roots: str) -> str:
        """Return a hash of all code that roots reach, 16 hexadecimal digits.

        A LookupError names a definition, or an entry of a registry, that is not there.
        """
        key = " ".join(roots)
        if key not in self._known:
            reached = self._code.reached(roots)
            self._known[key] = _digest("\n".join(map("=".join, reached)), 16)
            if self._cache:
                with suppress(OSError, AtlasError):
                    write_json({"state": self._state, "fingerprints": self._known}, self._cache)
        return self._known[key]

    def explain(self, *roots: str) -> dict[str, str]:
        """Return what a fingerprint consists of: a hash by ``module:name``, sorted.

        ``module:`` is what a module does on import, ``module:*`` a module used as an object.
        """
        return {label: _digest(content, 8) for label, content in self._code.reached(roots)}


def _digest(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def _state(root: Path) -> str:
    """Return a digest of the sizes and times of all files of the code."""
    paths = sorted(path for name in _PACKAGES for path in (root / name).rglob("*"))
    stats = [(path, path.stat()) for path in paths if "__pycache__" not in path.parts]
    state = [sys.version, *([str(path), it.st_size, it.st_mtime_ns] for path, it in stats)]
    return _digest(json.dumps(state), 64)


class _Import(NamedTuple):
    bound: str  # the name in this module, or ""
    module: str
    item: str  # what of the module, or "" for the module itself


class _Reached(NamedTuple):
    """The content of a label, the labels that it leads to, and those of a registry's entries."""

    content: str
    labels: set[str]
    entries: dict[str, set[str]]


class _Code:
    """The code below a folder, by label; see :meth:`Fingerprints.explain`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.open, self.module = cache(self._open), cache(self._module)

    def reached(self, roots: Iterable[str]) -> list[tuple[str, str]]:
        """Return every label that roots reach, with its content, sorted."""
        waiting: list[str] = []
        selected: dict[str, list[str]] = {}
        for root in roots:
            label, _, keys = root.removesuffix("]").partition("[")
            name, _, item = label.partition(":")
            if not (module := self.module(name)) or item not in module.uses:
                raise LookupError(f"there is no {label} in {self._root}")
            if root.endswith("]"):
                selected[label] = [key for key in keys.split(",") if key]
                if missing := set(selected[label]) - self.open(label).entries.keys():
                    raise LookupError(f"{label} has no entry {min(missing)!r}")
            else:
                waiting.append(label)
        contents: dict[str, str] = {}
        while waiting:
            label = waiting.pop()
            if label not in contents:
                content, labels, entries = self.open(label)
                waiting += labels
                for key in selected.get(label, sorted(entries)):
                    content += f"\n{key}: {sorted(entries[key])}"
                    waiting += entries[key]
                contents[label] = content
        return sorted(item for item in contents.items() if item[1])

    def _open(self, label: str) -> _Reached:
        """Return what a label stands for; nothing, if it is not of this code."""
        name, _, item = label.partition(":")
        module = self.module(name)
        if module is None:
            return _Reached("", set(), {})
        bound, more, entries = list[tuple[str, set[str]]](), {f"{name}:"}, dict[str, set[str]]()
        if item == "*":
            more |= {f"{name}:{each}" for each in module.definitions}
            bound = [(each, self._targets(module, each, [])) for each in module.imports if each]
        elif item == "":  # on import: the package around it, its imports, what else it does
            more = self._run([each for found in module.imports.values() for each in found])
            more.add(f"{name.rpartition('.')[0]}:")
        texts = module.data() if item == "*" else []
        for uses in module.uses.get(item, ()):
            texts.append(uses.text)
            more |= self._run(uses.imports)
            bound += [(each, self._targets(module, each, uses.imports)) for each in uses.names]
            bound += [(glob, self._matching(glob)) for glob in uses.modules]
            for key, reference in uses.entries.items():
                source, _, target = reference.partition(":")
                entries[key] = self._find(f"{_PACKAGE}.{source}", target)
        bindings = [f"{each}: {sorted(labels)}" for each, labels in sorted(bound) if labels]
        content = "\n".join(filter(None, texts + bindings))
        return _Reached(content, more.union(*(labels for _, labels in bound)), entries)

    def _targets(self, module: _Module, dotted: str, inner: list[_Import]) -> set[str]:
        """Return the labels of a name that is used in a module, ``x`` or ``x.y.z``."""
        first, *rest = dotted.split(".")
        labels = {f"{module.name}:{first}"} if first in module.definitions else set()
        for each in [*module.imports.get(first, []), *inner]:
            if each.bound == first:
                labels |= self._find(each.module, each.item)
        for attribute in rest:
            for label in [label for label in labels if label.endswith(":")]:
                labels = labels - {label} | self._find(label[:-1], attribute)
        return {f"{label}*" if label.endswith(":") else label for label in labels}

    def _find(self, name: str, item: str) -> set[str]:
        """Return the labels of an item of a module; ``module:*`` if it has no such definition."""
        module = self.module(name)
        if module is None or not item:
            return {f"{name}:{item}"}
        labels = {f"{name}:{item}"} if item in module.definitions else set()
        for each in module.imports.get(item, []):
            if each[1:] != (name, item):
                labels |= self._find(each.module, each.item)
        return labels or {f"{name}.{item}:" if self.module(f"{name}.{item}") else f"{name}:*"}

    def _run(self, imports: Iterable[_Import]) -> set[str]:
        """Return the labels of the modules that imports execute."""
        modules = {name for each in imports for name in (each[1], f"{each[1]}.{each[2]}")}
        return {f"{name}:" for name in modules}

    def _matching(self, glob: str) -> set[str]:
        """Return the labels of the modules whose name matches a pattern, or else a part of it."""
        files = (self._root / _PACKAGE).rglob("*.py")
        paths = [".".join(file.relative_to(self._root).with_suffix("").parts) for file in files]
        names = fnmatch.filter((path.removesuffix(".__init__") for path in paths), glob)
        fits = {f"{name}:*" for name in names if self.module(name)}
        return fits or (self._matching(glob.rpartition(".")[0]) if "." in glob else set())

    def _module(self, name: str) -> _Module | None:
        """Return a module by name; none if it is not of this code, or does not count."""
        parts = name.split(".")
        path = self._root.joinpath(*parts)
        files = [path / "__init__.py", path.parent / f"{path.name}.py"]
        file = next((file for file in files if file.is_file()), None)
        counts = parts[0] in _PACKAGES and not _IGNORED.fullmatch(name)
        return _Module(name, file) if counts and (file or path.is_dir()) else None


class _Module:
    """What a module's statements use, and its imports, by the names that they bind.

    The name "" stands for effects on import. A folder without ``__init__.py`` has no ``path``.
    """

    def __init__(self, name: str, path: Path | None) -> None:
        self.name = name
        self.folder = path.parent if path and path.name == "__init__.py" else None
        self.imports: dict[str, list[_Import]] = defaultdict(list)
        self.uses: dict[str, list[_Uses]] = defaultdict(list)
        for outer in ast.parse(path.read_text(encoding="utf-8")).body if path else ():
            part = _TYPING.get(ast.unparse(getattr(outer, "test", ast.Pass())))
            for statement in getattr(outer, part) if part else [outer]:
                names, uses = _names_bound(statement), _Uses(name, statement)
                for bound in names:
                    self.uses[bound].append(uses)
                for item in uses.imports if not names or "" in names else ():
                    self.imports[item.bound].append(item)
        self.definitions = self.uses.keys() - {""}

    def data(self) -> list[str]:
        """Return digests of the files of a package that are not code, such as templates."""
        files = sorted(self.folder.iterdir()) if self.folder else []
        data = [path for path in files if path.is_file() and path.suffix != ".py"]
        return [f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in data]


def _names_bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement defines, and "" if it does anything else."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return set()
    if isinstance(statement, _Definition):
        return {statement.name}
    names = set() if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign) else {""}
    for node in ast.walk(statement):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                names.add("")
    return names


class _Uses(ast.NodeTransformer):
    """What of a statement decides results, and what it uses; the rest is removed from it."""

    def __init__(self, module: str, statement: ast.stmt) -> None:
        self.names: set[str] = set()  # that it reads, as x or x.y.z
        self.imports: list[_Import] = []
        self.modules: set[str] = set()  # patterns for names of modules
        self.entries: Mapping[str, str] = {}  # references of a registry, by key
        self._module, self._in_class = module, False
        node = self.visit(statement)
        self.text = ast.dump(node) if node else ""  # independent of formatting

    def visit(self, node: ast.AST) -> ast.AST | None:
        """Take in a node; none if nothing of it counts."""
        match node:
            case ast.Expr(value=ast.Constant()):
                return None
            case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
                self.names.add(name)
            case ast.Attribute() if dotted := _dotted(node):
                self.names.add(dotted)
                return node
            case ast.Constant(value=str(text)) if text.startswith(f"{_PACKAGE}."):
                self.modules.add(text.partition(":")[0])
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                node.returns = None
            case ast.arg():
                node.annotation = None
            case ast.AnnAssign() if not self._in_class:
                node.annotation = ast.Constant(None)
            case ast.Call(func=ast.Name("Registry"), args=[ast.Dict() as entries]):
                self.entries, node.args = ast.literal_eval(entries), []
            case ast.Call(func=ast.Name("Field") | ast.Attribute(attr="Field")):
                node.keywords = [each for each in node.keywords if each.arg != "description"]
            case ast.Call(
                func=ast.Name("import_module") | ast.Attribute(attr="import_module"),
                args=[argument, *_],
            ):
                self.modules.add(self._pattern(argument))
            case ast.Import() | ast.ImportFrom():
                self.imports += _imports(node)
        before = self._in_class
        if isinstance(node, _Definition):
            self._in_class = isinstance(node, ast.ClassDef)
        self.generic_visit(node)
        self._in_class = before
        return node

    def _pattern(self, argument: ast.expr) -> str:
        """Return which modules an argument of ``import_module`` can mean."""
        if not isinstance(argument, ast.JoinedStr):
            return str(argument.value) if isinstance(argument, ast.Constant) else "*"
        text = ast.unparse(argument)[2:-1].replace("{__name__}", self._module)
        return re.sub(r"\{[^}]*\}", "*", text)


def _dotted(node: ast.expr) -> str:
    """Return a name or an attribute of one as text, x.y.z; nothing for anything else."""
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return before and f"{before}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[_Import]:
    for each in node.names:
        if isinstance(node, ast.ImportFrom):
            yield _Import(each.asname or each.name, str(node.module), each.name)
            continue
        top = each.name.partition(".")[0]
        yield _Import("", each.name, "")
        yield _Import(each.asname or top, each.name if each.asname else top, "")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python -m mbert_atlas.fingerprint ROOT...")
    for _name, _code in Fingerprints().explain(*sys.argv[1:]).items():
        print(_code, _name)

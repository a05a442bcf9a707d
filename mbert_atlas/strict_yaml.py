"""YAML that means one thing: keys are there once, and no text is read as a number, time or truth.

YAML 1.1, which Python's readers follow, takes ``no`` for false, ``010`` for 8 and ``12:00:00`` for
43200; YAML 1.2 does not. What the two read differently is refused, so that whoever reads the file
after us (Snakemake does) reads the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from mbert_atlas.errors import DataError, joined

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_KIND = "tag:yaml.org,2002:"
_PLAIN = {
    "bool": re.compile("true|false", re.IGNORECASE),
    "int": re.compile(r"[-+]?(0|[1-9]\d*)"),
    "float": re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?\.inf|\.nan", re.IGNORECASE),
    "null": re.compile("null|~", re.IGNORECASE),
    "timestamp": re.compile("(?!)"),
}
"""How the values are written that YAML 1.1 and 1.2 read alike; texts always are."""


def read(path: Path) -> Any:
    """Return what a YAML file holds, as plain values.

    Raises:
        DataError: (several: DataErrors) names every place where it is not UTF-8, not YAML, has a
            key twice, or a value that could be read differently.
    """
    text = _text(path)
    try:
        node = yaml.compose(text, Loader=_LOADER)
        if found := [
            DataError(path, f"line {mark.line + 1}", problem, mend)
            for mark, problem, mend in sorted(_doubts(node), key=lambda item: item[0].line)
        ]:
            raise joined(found)
        return yaml.load(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}" if mark else ""
        mend = "check indentation (blanks, no tabs), colons and brackets up to there"
        raise DataError(path, place, f"not YAML: {error.problem}", mend) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"not YAML: the invisible character #x{ord(text[error.position]):x}"
        raise DataError(path, f"line {line}", problem, "delete it") from error


def compose(path: Path) -> Any:
    """Return the tree of a YAML file's nodes, which know their lines; none if it cannot be read."""
    try:
        return yaml.compose(_text(path), Loader=_LOADER)
    except (DataError, yaml.YAMLError):
        return None


def value_of(text: str) -> Any:
    """Return what a text typed in place of a YAML value means.

    Raises:
        ValueError: if it could be read differently, or is no single plain value.
    """
    resolver: Any = yaml.resolver.Resolver()
    tag = resolver.resolve(yaml.ScalarNode, text, (True, False))
    node = yaml.ScalarNode(tag, text)
    if text and (doubt := _doubt(node)):
        raise ValueError(f"{doubt[0]}; {doubt[1]}")
    return yaml.SafeLoader("").construct_object(node)


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(path, "", "no such file", "correct the path") from error
    except OSError as error:
        raise DataError(path, "", f"cannot be read ({error.strerror})", "name a file") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(path, f"line {line}", "not UTF-8", "save it in this encoding") from error


def _doubts(node: Any, above: tuple[int, ...] = ()) -> Iterator[tuple[Any, str, str]]:
    """Yield mark, problem and mend of every doubt in a tree."""
    if id(node) in above:
        yield node.start_mark, "an anchor is used within itself", "write out what is meant"
    elif isinstance(node, yaml.ScalarNode):
        if doubt := _doubt(node):
            yield node.start_mark, *doubt
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _doubts(item, (*above, id(node)))
    elif isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                yield key.start_mark, "a key is no plain word", "write `key: value`"
            elif key.value in lines:
                problem = f"the key {key.value!r} is there twice, first in line {lines[key.value]}"
                yield key.start_mark, problem, "keep one of the two"
            else:
                lines[key.value] = key.start_mark.line + 1
                yield from _doubts(key)
            yield from _doubts(value, (*above, id(node)))


def _doubt(node: Any) -> tuple[str, str] | None:
    kind = node.tag.removeprefix(_KIND)
    if node.style or kind not in _PLAIN or _PLAIN[kind].fullmatch(node.value):
        return None
    text = node.value
    if kind == "null":
        return "a key or an item has no value", "write one, or null if there is to be none"
    if kind == "timestamp":
        return f"{text} is read as a date", f"write '{text}' in quotes"
    meant = yaml.SafeLoader("").construct_object(yaml.ScalarNode(node.tag, text))
    meant = str(meant).lower() if kind == "bool" else meant
    plain = str(meant) if kind == "bool" else "the number in plain digits"
    return f"{text} is read as {meant}", f"write {plain}, or '{text}' in quotes for a text"

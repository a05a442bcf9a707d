"""YAML with one meaning: unique keys, and no text that is read as a number, time or boolean.

YAML 1.1, which Python's readers follow, reads ``no`` as false, ``010`` as 8 and ``12:00:00`` as
43200; YAML 1.2 does not. Values that the two read differently raise an error, so that Snakemake,
which reads the same files, gets the same values.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from mbert_atlas.errors import DataError, joined
from mbert_atlas.files import read_text

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_PLAIN = {
    "bool": re.compile("true|false", re.IGNORECASE),
    "int": re.compile(r"[-+]?(0|[1-9]\d*)"),
    "float": re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?\.inf|\.nan", re.IGNORECASE),
    "null": re.compile("null|~", re.IGNORECASE),
    "timestamp": re.compile("(?!)"),
}
"""Spellings that YAML 1.1 and 1.2 read alike, by type; they read all texts alike."""
_BLANK = re.compile("[\u00a0\u1680\u2000-\u200d\u202f\u205f\u2060\u3000\ufeff]")
"""Blanks of no width or another one, as pages and word processors have them, which YAML reads as
letters."""


def read(path: Path) -> Any:
    """Return the content of a YAML file as plain values.

    Raises DataError (several: DataErrors), which names every place where the file is not UTF-8 or
    not YAML, has a key twice, or a value that could be read differently.
    """
    text = read_text(path)
    try:
        loader = _LOADER(text)
        node = loader.get_single_node()
        if ambiguities := sorted(_ambiguities(node), key=lambda item: item[0]):
            raise joined(DataError(path, f"line {line}", *rest) for line, *rest in ambiguities)
        return loader.construct_document(node) if node else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}" if mark else ""
        fix = "check indentation (blanks, no tabs), colons and brackets up to there"
        raise DataError(path, place, f"not YAML: {error.problem}", fix) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"not YAML: the invisible character #x{ord(text[error.position]):x}"
        raise DataError(path, f"line {line}", problem, "delete it") from error


def lines(path: Path) -> dict[str, int]:
    """Return the line of every key and list item of a YAML file, by its keys joined by dots."""
    numbers: dict[str, int] = {}

    def visit(node: Any, place: str) -> None:
        if isinstance(node, yaml.MappingNode):
            items = [(key.value, key, value) for key, value in node.value]
        else:
            items = [(n, item, item) for n, item in enumerate(node.value)]
        # A key of the mapping itself comes before the same key of a merged one.
        for name, marked, value in sorted(items, key=lambda item: item[0] == "<<"):
            if name != "<<":
                numbers.setdefault(f"{place}{name}", marked.start_mark.line + 1)
            if isinstance(value, yaml.CollectionNode):
                visit(value, place if name == "<<" else f"{place}{name}.")

    visit(yaml.compose(read_text(path), Loader=_LOADER), "")
    return numbers


def value_of(text: str) -> Any:
    """Return the value of a YAML scalar, as typed on a command line.

    Raises ValueError if it could be read differently, or is not a single plain value.
    """
    resolver: Any = yaml.resolver.Resolver()
    node = yaml.ScalarNode(resolver.resolve(yaml.ScalarNode, text, (True, False)), text)
    if text and (ambiguity := _ambiguity(node)):
        raise ValueError("; ".join(ambiguity))
    return yaml.SafeLoader("").construct_object(node)


def _ambiguities(node: Any, above: tuple[int, ...] = ()) -> Iterator[tuple[int, str, str]]:
    """Yield line, problem and fix of every ambiguity in a tree."""
    line = node.start_mark.line + 1 if node else 0
    if id(node) in above:
        yield line, "an anchor is used within itself", "write out what is meant"
    elif isinstance(node, yaml.ScalarNode):
        if ambiguity := _ambiguity(node):
            yield line, *ambiguity
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _ambiguities(item, (*above, id(node)))
    elif isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                yield line, "a key is not a plain word", "write `key: value`"
            elif key.value in seen:
                problem = f"the key {key.value!r} is there twice, first in line {seen[key.value]}"
                yield line, problem, "keep one of the two"
            else:
                seen[key.value] = line
                yield from _ambiguities(key)
            yield from _ambiguities(value, (*above, id(node)))


def _ambiguity(node: Any) -> tuple[str, str] | None:
    kind, text = node.tag.removeprefix(_TAG), node.value
    if not node.style and (blank := _BLANK.search(text)):
        return f"#x{ord(blank[0]):x} looks like a blank", "write a blank, or the text in quotes"
    if node.style or kind not in _PLAIN or _PLAIN[kind].fullmatch(text):
        return None
    if kind == "null":
        return "a key or an item has no value", "write one, or null for none"
    if kind == "timestamp":
        return f"{text} is read as a date", f"write '{text}' in quotes"
    value = yaml.SafeLoader("").construct_object(yaml.ScalarNode(node.tag, text))
    value = str(value).lower() if kind == "bool" else value
    plain = value if kind == "bool" else "the number in plain digits"
    return f"{text} is read as {value}", f"write {plain}, or '{text}' in quotes for a text"

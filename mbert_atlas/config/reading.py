"""Reading the config: files laid over each other, mistakes named with file and line."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from mbert_atlas import strict_yaml
from mbert_atlas.config.mistakes import Mistake, gathered
from mbert_atlas.errors import DataError, joined

BASE = Path("config/config.yaml")
_TAGS = ("corpus", "kind")
"""Keys that tell the models of a union apart."""
_MISSING = "the key is missing"
_EMPTY = "there is nothing in it"
_Model = TypeVar("_Model", bound=BaseModel)


def validate(
    model: type[_Model],
    values: Mapping[str, Any],
    files: Sequence[Path | str] = (),
    typed: Collection[str] = (),
    checks: Iterable[Callable[[_Model], None]] = (),
    described: Path | str = BASE,
) -> _Model:
    """Turn merged config values into a model and see whether its parts fit together.

    Args:
        model: the config with the sections of some papers, or another file's model.
        values: the merged mapping.
        files: the files it came from, last one wins; used to say where a mistake stands.
        typed: top-level keys that were given on the command line, over all files.
        checks: called with the config one after the other; they report :class:`Mistake`.
        described: the file to look keys up in.

    Raises:
        DataError: (several: DataErrors) names the file and the line of each mistake, the key and
            the mend. Parts are compared once each is right.
    """
    try:
        config = model.model_validate(values)
        mistakes = gathered(checks, config)
    except Mistake as mistake:
        mistakes = [mistake]
    except ValidationError as error:
        mistakes = [_mistake(model, item, described) for item in error.errors(include_url=False)]
        # A key that is missing may be there, but misspelt: that comes first.
        mistakes.sort(key=lambda item: item.problem == _MISSING)
    if mistakes:
        raise located(mistakes, files, typed)
    return config


def _mistake(model: type[BaseModel], item: Mapping[str, Any], described: Path | str) -> Mistake:
    cause = item.get("ctx", {}).get("error")
    if isinstance(cause, Mistake):
        return cause
    place, holders = _place(model, item["loc"])
    return Mistake(place, _problem(item), _mend(item, place, holders, described))


def located(
    mistakes: Iterable[Mistake], files: Sequence[Path | str], typed: Collection[str] = ()
) -> DataError:
    """Return the error that names file and line of one or more mistakes; see :func:`validate`."""
    trees = {str(file): strict_yaml.compose(Path(file)) for file in files}
    found: dict[tuple[str, int, str], tuple[str, Mistake, dict[str, None]]] = {}
    for mistake in mistakes:
        keys = [key for key in mistake.place.split(".") if key]
        path, line = _locate(keys, trees)
        if keys and keys[0] in typed:
            path, line = "--config", 0
        place = [f"line {line}"] if line else []
        place += [f"key {mistake.place}"] if keys else []
        # What families inherit from one is a mistake of each of them, in one place.
        common = mistake.problem.removeprefix(repr(mistake.name))
        first = found.setdefault((path, line, common), (", ".join(place), mistake, {}))
        first[2][mistake.name] = None
    errors = []
    for (path, *_), (where, mistake, names) in sorted(found.items(), key=lambda item: item[0][:2]):
        problem = mistake.problem
        if len(names) > 1:
            others = [repr(name) for name in names if name != mistake.name]
            problem += f" (nor {', '.join(others)})"
        errors.append(DataError(path, where, problem, mistake.mend))
    return joined(errors)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a config file, see :func:`mbert_atlas.strict_yaml.read`.

    Raises:
        DataError: (several: DataErrors) names the lines of mistakes; it is no mapping of keys.
    """
    value = strict_yaml.read(path)
    if not isinstance(value, dict):
        raise DataError(path, "", "not a mapping of keys", "start from config/demo.yaml")
    return value


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the models of a field: one, or those of a union; none for plain values."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (dict, list, tuple, None):
        return []
    return [model for argument in get_args(annotation) for model in models_in(argument)]


def item_of(annotation: Any) -> Any:
    """Return the type of the items of a mapping or list; none for anything else."""
    if get_origin(annotation) in (Union, UnionType):
        return next(filter(None, map(item_of, get_args(annotation))), None)
    return get_args(annotation)[-1] if get_origin(annotation) in (dict, list) else None


def tags_of(model: type[BaseModel]) -> tuple[str, ...]:
    """Return what a model's `kind` or `corpus` may be; none if it is in no union."""
    fields = [model.model_fields[key] for key in _TAGS if key in model.model_fields]
    return get_args(fields[0].annotation) if fields else ()


def _place(model: type[BaseModel], loc: Sequence[Any]) -> tuple[str, list[type[BaseModel]]]:
    """Return the key that pydantic means, without the tags of unions, and where it stands.

    The last key is one of the first model returned; the others are the rest of its union.
    """
    keys: list[str] = []
    annotation: Any = model
    holders: list[type[BaseModel]] = [model]
    for part in loc:
        models = models_in(annotation)
        chosen = [item for item in models if len(models) > 1 and part in tags_of(item)]
        if chosen:  # a tag, no key
            annotation = chosen[0]
            holders = [*chosen, *(item for item in models if item not in chosen)]
            continue
        keys.append(str(part))
        if not models:
            annotation = item_of(annotation)
            continue
        if annotation is not holders[0]:
            holders = models
        field = holders[0].model_fields.get(str(part))
        annotation = field.annotation if field else None
    return ".".join(keys), holders


def _problem(mistake: Mapping[str, Any]) -> str:
    if mistake["type"] == "extra_forbidden":
        return "there is no such key"
    if mistake["type"] == "missing":
        return _MISSING
    if mistake["type"] == "too_short" and mistake["ctx"]["actual_length"] == 0:
        return _EMPTY
    text = str(mistake["msg"]).removeprefix("Value error, ")
    return text if mistake["type"] == "value_error" else f"{text}, found {mistake['input']!r}"


def _mend(
    mistake: Mapping[str, Any],
    place: str,
    holders: Sequence[type[BaseModel]],
    described: Path | str,
) -> str:
    if _problem(mistake) == _EMPTY:
        return "name something, or leave the key out; null takes out what is inherited"
    if mistake["type"] != "extra_forbidden":
        return f"correct it; {described} describes every key"
    key = place.rpartition(".")[2]
    others = [tag for item in holders[1:] if key in item.model_fields for tag in tags_of(item)]
    if others:
        return f"{', '.join(sorted(others))} {'has' if len(others) == 1 else 'have'} it"
    near = difflib.get_close_matches(key, holders[0].model_fields, 1)
    return f"did you mean {near[0]!r}?" if near else f"see {described} for the keys"


def _locate(keys: Sequence[str], trees: Mapping[str, Any]) -> tuple[str, int]:
    """Find the file and line where the longest prefix of ``keys`` is written last; line 0: none."""
    best: tuple[int, str, int] = (0, next(reversed(list(trees)), "config"), 0)
    for path, node in trees.items():
        depth, line = _follow(keys, node)
        if depth and depth >= best[0]:
            best = (depth, path, line)
    return best[1], best[2]


def _follow(keys: Sequence[str], node: Any) -> tuple[int, int]:
    """Return how many of ``keys`` a tree has, and the line of the last of them."""
    if not keys:
        return 0, 0
    if isinstance(node, yaml.SequenceNode) and keys[0].isdigit() and int(keys[0]) < len(node.value):
        item = node.value[int(keys[0])]
        depth, line = _follow(keys[1:], item)
        return depth + 1, line or item.start_mark.line + 1
    best = (0, 0)
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        # A key of `space` holds dots itself; the `*` of a family stands for several names.
        taken = 1 if fnmatchcase(keys[0], key.value) else len(keys) * (key.value == ".".join(keys))
        depth, line = _follow(keys[taken:], value)
        if key.value == "<<":
            best = max(best, (depth, line))
        elif taken:
            best = max(best, (depth + taken, line or key.start_mark.line + 1))
    return best

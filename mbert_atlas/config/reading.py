"""Reading the config: files laid over each other, mistakes named with file and line."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from mbert_atlas.config.mistakes import Mistake
from mbert_atlas.errors import DataError

BASE = Path("config/config.yaml")
_TAGS = ("corpus", "kind")
"""Keys that tell the models of a union apart."""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
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
        checks: called with the config one after the other; they raise :class:`Mistake`.
        described: the file to look keys up in.

    Raises:
        DataError: names the file and the line of the first mistake, the key and the mend.
    """
    try:
        config = model.model_validate(values)
        for fits in checks:
            fits(config)
    except Mistake as mistake:
        raise located(mistake, files, typed) from mistake
    except ValidationError as error:
        mistakes = error.errors(include_url=False)
        # A key that is missing may be there, but misspelt.
        first = min(mistakes, key=lambda item: (len(item["loc"]) == 0, item["type"] == "missing"))
        cause = first.get("ctx", {}).get("error")
        if not isinstance(cause, Mistake):
            place, holders = _place(model, first["loc"])
            cause = Mistake(place, _problem(first), _mend(first, place, holders, described))
        if len(mistakes) > 1:
            cause.problem += f" ({len(mistakes) - 1} more mistakes follow)"
        raise located(cause, files, typed) from error
    return config


def located(
    mistake: Mistake, files: Sequence[Path | str], typed: Collection[str] = ()
) -> DataError:
    """Return the error that names the file and the line of a mistake; see :func:`validate`."""
    keys = [key for key in mistake.place.split(".") if key]
    path, line = _locate(keys, [Path(file) for file in files])
    if keys and keys[0] in typed:
        path, line = "--config", ""
    place = ", ".join(filter(None, [line, f"key {mistake.place}" if keys else ""]))
    return DataError(path, place, mistake.problem, mistake.mend)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a config file; a mistake is a :class:`DataError` that names the line."""
    try:
        value = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
    except FileNotFoundError as error:
        raise DataError(path, "", "no such config file", "correct the path") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}" if mark else ""
        raise DataError(path, place, "not YAML", "check indentation and colons") from error
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
        return "the key is missing"
    text = str(mistake["msg"]).removeprefix("Value error, ")
    return text if mistake["type"] == "value_error" else f"{text}, found {mistake['input']!r}"


def _mend(
    mistake: Mapping[str, Any],
    place: str,
    holders: Sequence[type[BaseModel]],
    described: Path | str,
) -> str:
    if mistake["type"] != "extra_forbidden":
        return f"correct it; {described} describes every key"
    key = place.rpartition(".")[2]
    others = [tag for item in holders[1:] if key in item.model_fields for tag in tags_of(item)]
    if others:
        return f"{', '.join(sorted(others))} {'has' if len(others) == 1 else 'have'} it"
    near = difflib.get_close_matches(key, holders[0].model_fields, 1)
    return f"did you mean {near[0]!r}?" if near else f"see {described} for the keys"


def _locate(keys: Sequence[str], files: Sequence[Path]) -> tuple[str, str]:
    """Find the file and line where the longest prefix of ``keys`` is written last."""
    best: tuple[int, str, str] = (0, str(files[-1]) if files else "config", "")
    for path in files:
        try:
            node = yaml.compose(path.read_text(encoding="utf-8"), Loader=_LOADER)
        except (OSError, yaml.YAMLError):
            continue
        depth, line = 0, 0
        for key, rest in ((key, ".".join(keys[number:])) for number, key in enumerate(keys)):
            if not isinstance(node, yaml.MappingNode):
                break
            # A key of `space` holds dots itself.
            found = [pair for pair in node.value if pair[0].value in (key, rest)]
            if not found:
                break
            depth, line, node = depth + 1, found[-1][0].start_mark.line + 1, found[-1][1]
        if depth and depth >= best[0]:
            best = (depth, str(path), f"line {line}")
    return best[1], best[2]

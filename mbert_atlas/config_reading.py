"""Reading the config: files laid over each other, mistakes named with file and line."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from mbert_atlas.config import Config
from mbert_atlas.config_families import laid_over
from mbert_atlas.config_mistakes import Mistake
from mbert_atlas.errors import DataError

_BASE = Path("config/config.yaml")
_PAPER_FILES = Path("config/papers")


def base_files(root: Path = Path(".")) -> list[Path]:
    """Return the config files that every preset starts from, in the order they are merged."""
    return [root / _BASE, *sorted((root / _PAPER_FILES).glob("*.yaml"))]


def load(files: Sequence[Path], root: Path = Path(".")) -> Config:
    """Read the base files, lay ``files`` over them and validate.

    Raises:
        DataError: if a file is missing, is not YAML or holds a key or value that is refused.
    """
    files = [*base_files(root), *files]
    merged: dict[str, Any] = {}
    for path in files:
        merged = laid_over(merged, read_yaml(path))
    return validate(merged, files)


def validate(
    values: Mapping[str, Any],
    files: Sequence[Path | str] = (),
    languages: Collection[str] = (),
    typed: Collection[str] = (),
) -> Config:
    """Turn merged config values into a :class:`Config`.

    Args:
        values: the merged mapping.
        files: the files it came from, last one wins; used to say where a mistake stands.
        languages: the language codes that a dataset may name.
        typed: top-level keys that were given on the command line, over all files.

    Raises:
        DataError: names the file and the line of the first mistake, the key and the mend.
    """
    try:
        return Config.model_validate(values, context={"languages": languages})
    except ValidationError as error:
        mistakes = error.errors(include_url=False)
        first = min(mistakes, key=lambda item: len(item["loc"]) == 0)
        cause = first.get("ctx", {}).get("error")
        loc = cause.place.split(".") if isinstance(cause, Mistake) else first["loc"]
        keys = [str(key) for key in loc if str(key) not in ("adjustment", "finetuning")]
        path, line = _locate(keys, [Path(file) for file in files])
        if keys and keys[0] in typed:
            path, line = "--config", ""
        place = ", ".join(filter(None, [line, f"key {'.'.join(keys)}" if keys else ""]))
        more = f" ({len(mistakes) - 1} more mistakes follow)" if len(mistakes) > 1 else ""
        if isinstance(cause, Mistake):
            raise DataError(path, place, cause.problem + more, cause.mend) from error
        raise DataError(path, place, _problem(first) + more, _mend(first, keys, values)) from error


def _problem(mistake: Mapping[str, Any]) -> str:
    if mistake["type"] == "extra_forbidden":
        return "there is no such key"
    if mistake["type"] == "missing":
        return "the key is missing"
    text = str(mistake["msg"]).removeprefix("Value error, ")
    return text if mistake["type"] == "value_error" else f"{text}, found {mistake['input']!r}"


def _mend(mistake: Mapping[str, Any], keys: Sequence[str], values: Mapping[str, Any]) -> str:
    if mistake["type"] == "extra_forbidden":
        near = difflib.get_close_matches(keys[-1], _keys_beside(keys, values), 1)
        return f"did you mean {near[0]!r}?" if near else "see config/config.yaml for the keys"
    return "correct it; config/config.yaml describes every key"


def _keys_beside(keys: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    """Return the keys that the model which holds the last of ``keys`` does have."""
    annotation: Any = Config
    value: Any = values
    for key in keys[:-1]:
        for kind, inner in models_of(annotation, value)[:1]:
            field = None if kind == "mapping" else inner.model_fields.get(key)
            annotation = inner if kind == "mapping" else field and field.annotation
        value = value.get(key) if isinstance(value, Mapping) else None
    found = [inner for kind, inner in models_of(annotation, value) if kind == "model"]
    return list(found[0].model_fields) if found else []


def _locate(keys: Sequence[str], files: Sequence[Path]) -> tuple[str, str]:
    """Find the file and line where the longest prefix of ``keys`` is written last."""
    best: tuple[int, str, str] = (0, str(files[-1]) if files else "config", "")
    for path in files:
        try:
            node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
        except (OSError, yaml.YAMLError):
            continue
        depth, line = 0, 0
        for key in keys:
            if not isinstance(node, yaml.MappingNode):
                break
            found = [pair for pair in node.value if pair[0].value == key]
            if not found:
                break
            depth, line, node = depth + 1, found[-1][0].start_mark.line + 1, found[-1][1]
        if depth and depth >= best[0]:
            best = (depth, str(path), f"line {line}")
    return best[1], best[2]


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a config file; a mistake is a :class:`DataError` that names the line."""
    try:
        value = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(path, "", "no such config file", "correct the path") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}" if mark else ""
        raise DataError(path, place, "not YAML", "check indentation and colons") from error
    if not isinstance(value, dict):
        raise DataError(path, "", "not a mapping of keys", "start from config/demo.yaml")
    return value


def models_of(annotation: Any, value: Any) -> list[tuple[str, Any]]:
    """Say whether an annotation is a model, or a mapping of models, as far as ``value`` decides."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is dict:
        return [("mapping", arguments[1])] if models_of(arguments[1], {}) else []
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        kind = annotation.model_fields.get("kind")
        wanted = value.get("kind") if isinstance(value, Mapping) else None
        if kind and wanted and wanted not in get_args(kind.annotation):
            return []
        if kind and isinstance(value, Mapping) and "like" in value:
            # Its kind is another family's; keys that only one kind has tell, also further in.
            return [("model", annotation)] if _knows_keys(annotation, value) else []
        return [("model", annotation)]
    return [found for argument in arguments for found in models_of(argument, value)]


def _knows_keys(model: type[BaseModel], value: Mapping[str, Any]) -> bool:
    """Tell whether a model has all keys of ``value``, and its parts those of the parts."""
    if not set(value) <= set(model.model_fields):
        return False
    for key, item in value.items():
        if not isinstance(item, Mapping):
            continue
        found = models_of(model.model_fields[key].annotation, item)
        parts = [part for what, part in found if what == "model"]
        if parts and not any(_knows_keys(part, item) for part in parts):
            return False
    return True

"""The files of ``config/`` as documentation: descriptions above the keys, and a JSON schema.

``python -m mbert_atlas.config_files write`` rewrites ``config/config.yaml`` and
``config/papers/*.yaml`` with the descriptions of the models, and ``config/schema.json``; a test
asserts that they agree.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from mbert_atlas.config import Config
from mbert_atlas.config_reading import base_files, models_of, read_yaml

_WIDTH = 96


def documented(values: Mapping[str, Any], seen: set[type[BaseModel]] | None = None) -> str:
    """Return ``values`` as YAML with every key's description above its first use.

    Args:
        values: part of a config, as read from YAML.
        seen: models described already; grows.
    """
    return "\n".join(_lines(Config, values, 0, set() if seen is None else seen)) + "\n"


def _lines(
    model: type[BaseModel], values: Mapping[str, Any], depth: int, seen: set[type[BaseModel]]
) -> Iterator[str]:
    pad, first = "  " * depth, model not in seen
    seen.add(model)
    if unknown := sorted(set(values) - set(model.model_fields)):
        raise ValueError(f"{model.__name__} has no key {unknown[0]!r}, which would be lost")
    for key, field in model.model_fields.items():
        if key not in values:
            continue
        if first or depth == 0:
            yield from _comment(field.description or "", pad)
        yield from _entry(key, values[key], field.annotation, depth, seen)
    absent = [
        f"{key} ({_flow(field.default)})"
        for key, field in model.model_fields.items()
        if key not in values and not field.is_required() and depth and _plain(field.default)
    ]
    if first and absent:
        yield from _comment("Left at their defaults: " + ", ".join(absent), pad)


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | tuple | list)


def _entry(
    key: str, value: Any, annotation: Any, depth: int, seen: set[type[BaseModel]]
) -> Iterator[str]:
    pad = "  " * depth
    models = models_of(annotation, value)
    if not isinstance(value, Mapping) or not models:
        text = _flow(value)
        if isinstance(value, Mapping) and len(pad) + len(key) + 2 + len(text) > _WIDTH:
            yield f"{pad}{key}:"
            for name, item in value.items():
                text = _flow(item).replace("\n", f"\n{pad}  ")
                yield f"{pad}  {name}: {text}"
            return
        if len(pad) + len(key) + 2 + len(text) > _WIDTH and isinstance(value, list):
            text = text.replace("\n", "\n" + pad)
        yield f"{pad}{key}: {text}"
    elif models[0][0] == "mapping":
        yield f"{pad}{key}:"
        for name, item in value.items():
            yield from _entry(str(name), item, models[0][1], depth + 1, seen)
    else:
        yield f"{pad}{key}:"
        yield from _lines(models[0][1], value, depth + 1, seen)


def _flow(value: Any) -> str:
    value = list(value) if isinstance(value, tuple) else value
    text = yaml.safe_dump(
        value, default_flow_style=True, allow_unicode=True, width=_WIDTH, sort_keys=False
    )
    return text.removesuffix("\n").removesuffix("\n...")


def _comment(text: str, pad: str) -> list[str]:
    return [f"{pad}# {line}" for line in textwrap.wrap(text, _WIDTH - len(pad))]


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of a config, for editors."""
    schema = Config.model_json_schema()
    # What a family lacks may come from the one that it is `like`, its kind too.
    for model in ("AdjustmentRuns", "FinetuningRuns"):
        del schema["$defs"][model]["required"]
    families = schema["properties"]["runs"]["additionalProperties"]
    families["anyOf"] = families.pop("oneOf")
    del families["discriminator"]
    return schema


def write(root: Path = Path(".")) -> list[Path]:
    """Regenerate the config files and the JSON schema; return what was written."""
    written, seen = [], set[type[BaseModel]]()
    for path in base_files(root):
        head = "# Written by `python -m mbert_atlas.config_files write`: change values and rerun.\n"
        schema = "schema.json" if path.parent.name == "config" else "../schema.json"
        head += f"# yaml-language-server: $schema={schema}\n\n"
        path.write_text(head + documented(read_yaml(path), seen), encoding="utf-8")
        written.append(path)
    schema_file = root / "config/schema.json"
    text = json.dumps(json_schema(), indent=1, ensure_ascii=False, sort_keys=True)
    schema_file.write_text(text + "\n", encoding="utf-8")
    return [*written, schema_file]


if __name__ == "__main__":
    if sys.argv[1:] != ["write"]:
        sys.exit("usage: python -m mbert_atlas.config_files write")
    for item in write():
        print(item)

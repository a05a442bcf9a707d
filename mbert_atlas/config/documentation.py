"""The files of ``config/`` as documentation: descriptions above the keys, and JSON schemas.

``python -m mbert_atlas.config.documentation write`` rewrites ``config/config.yaml`` and
``config/papers/<paper>.yaml`` with the descriptions of the models, and the schemas of both; a test
asserts that they agree. Presets are left as they are.
"""

from __future__ import annotations

import importlib
import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from mbert_atlas.config.model import Config
from mbert_atlas.config.reading import BASE, item_of, models_in, read_yaml, tags_of

_WIDTH = 96


def documented(
    values: Mapping[str, Any],
    model: type[Config] = Config,
    seen: set[Any] | None = None,
) -> str:
    """Return ``values`` as YAML with every key's description above its first use.

    Args:
        values: part of a config, as read from YAML.
        model: the config with the sections of the papers that may be among them.
        seen: models and keys described already; grows.
    """
    return "\n".join(_lines(model, values, 0, set() if seen is None else seen)) + "\n"


def _lines(
    model: type[BaseModel], values: Mapping[str, Any], depth: int, seen: set[Any]
) -> Iterator[str]:
    pad, first = "  " * depth, model not in seen
    seen.add(model)
    if unknown := sorted(set(values) - set(model.model_fields)):
        raise ValueError(f"{model.__name__} has no key {unknown[0]!r}, which would be lost")
    for key, field in model.model_fields.items():
        if key not in values:
            continue
        known = (key, field.description)
        if depth == 0 or known not in seen:
            yield from _comment(field.description or "", pad)
        seen.add(known)
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


def _entry(key: str, value: Any, annotation: Any, depth: int, seen: set[Any]) -> Iterator[str]:
    pad = "  " * depth
    model, item = _model_of(annotation, value), item_of(annotation)
    if isinstance(value, Mapping) and model:
        yield f"{pad}{key}:"
        yield from _lines(model, value, depth + 1, seen)
    elif isinstance(value, Mapping) and models_in(item):
        yield f"{pad}{key}:"
        for name, inner in value.items():
            yield from _entry(str(name), inner, item, depth + 1, seen)
    elif isinstance(value, Mapping) and len(pad) + len(key) + 2 + len(_flow(value)) > _WIDTH:
        yield f"{pad}{key}:"
        for name, inner in value.items():
            text = _flow(inner).replace("\n", f"\n{pad}  ")
            yield f"{pad}  {name}: {text}"
    else:
        text = _flow(value).replace("\n", f"\n{pad}")
        yield f"{pad}{key}: {text}"


def _model_of(annotation: Any, value: Any) -> type[BaseModel] | None:
    """Return the model of a field; of a union, the one whose tag or else whose keys these are."""
    models = models_in(annotation)
    if len(models) > 1 and isinstance(value, Mapping):
        tags = {value.get("kind"), value.get("corpus")}
        tagged = [model for model in models if tags & set(tags_of(model))]
        # The kind of a family that is `like` another is the other's.
        models = tagged or [model for model in models if _knows_keys(model, value)]
    return models[0] if models else None


def _knows_keys(model: type[BaseModel], value: Mapping[str, Any]) -> bool:
    """Tell whether a model has all keys of ``value``, and its parts those of the parts."""
    if not set(value) <= set(model.model_fields):
        return False
    parts = [
        (models_in(model.model_fields[key].annotation), item)
        for key, item in value.items()
        if isinstance(item, Mapping)
    ]
    return all(any(_knows_keys(part, item) for part in models) for models, item in parts if models)


def _flow(value: Any) -> str:
    value = list(value) if isinstance(value, tuple) else value
    text = yaml.safe_dump(
        value, default_flow_style=True, allow_unicode=True, width=_WIDTH, sort_keys=False
    )
    return text.removesuffix("\n").removesuffix("\n...")


def _comment(text: str, pad: str) -> list[str]:
    return [f"{pad}# {line}" for line in textwrap.wrap(text, _WIDTH - len(pad))]


def shared_schema() -> dict[str, Any]:
    """Return the JSON schema of what all papers share, for editors.

    A file holds a part of a config, so that no top-level key is required; and what a family of runs
    lacks may come from the one that it is `like`, its kind too.
    """
    schema = Config.model_json_schema()
    del schema["required"]
    schema["patternProperties"] = {r"^[a-z]+\d{4}$": {"type": "object"}}  # sections of papers
    for model in ("AdjustmentRuns", "FinetuningRuns", "Search", "Choices", "Choice"):
        del schema["$defs"][model]["required"]
    families = schema["properties"]["runs"]["additionalProperties"]
    families["anyOf"] = families.pop("oneOf")
    del families["discriminator"]
    nullable: dict[str, Any] = _with_nulls(schema)
    return nullable


def paper_schema(paper: str, section: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a paper's config file, which extends the shared one."""
    schema = section.model_json_schema()
    definitions = schema.pop("$defs", {})
    whole = {
        "allOf": [{"$ref": "../schema.json"}],
        "properties": {paper: schema},
        "$defs": definitions,
    }
    nullable: dict[str, Any] = _with_nulls(whole)
    return nullable


def _with_nulls(schema: Any) -> Any:
    """Return a JSON schema in which every entry of a mapping may be null, which takes it out."""
    if isinstance(schema, list):
        return [_with_nulls(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: _with_nulls(item) for key, item in schema.items()}
    entry, null = schema.get("additionalProperties"), {"type": "null"}
    if isinstance(entry, dict) and entry and null not in entry.get("anyOf", ()):
        schema["additionalProperties"] = {"anyOf": [entry, null]}
    return schema


def write(
    model: type[Config], sections: Mapping[str, type[BaseModel]], root: Path = Path(".")
) -> list[Path]:
    """Regenerate config files and JSON schemas; return what was written.

    Args:
        model: the config with the sections of all papers.
        sections: the models of these sections, by paper.
        root: folder of the repository.
    """
    seen = set[Any]()
    schemas = {root / "config/schema.json": shared_schema()}
    files = {root / BASE: "schema.json"}
    for paper, section in sections.items():
        schema = f"{paper}.schema.json"
        files[root / f"config/papers/{paper}.yaml"] = schema
        schemas[root / "config/papers" / schema] = paper_schema(paper, section)
    for path, schema in files.items():
        head = (
            "# Written by `python -m mbert_atlas.config.documentation write`: change values and "
            f"rerun.\n# yaml-language-server: $schema={schema}\n\n"
        )
        path.write_text(head + documented(read_yaml(path), model, seen), encoding="utf-8")
    for path, content in schemas.items():
        text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True)
        path.write_text(text + "\n", encoding="utf-8")
    return [*files, *schemas]


if __name__ == "__main__":
    if sys.argv[1:] != ["write"]:
        sys.exit("usage: python -m mbert_atlas.config.documentation write")
    # The papers import this room; it finds them only where it is run as a program.
    papers = importlib.import_module("mbert_atlas.papers")
    found = {paper: papers.section(paper) for paper in papers.names()}
    for item in write(papers.config_model(found), found):
        print(item)

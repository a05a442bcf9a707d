"""The files of ``config/`` as documentation: descriptions above the keys, and JSON schemas.

``python -m mbert_atlas.config.documentation write`` rewrites ``config/config.yaml`` and
``config/papers/<paper>.yaml`` with the descriptions of the models, and the schemas of both; a test
asserts that they agree. Presets stay as they are.
"""

import ast
import importlib
import inspect
import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from mbert_atlas.config.model import Config
from mbert_atlas.config.reading import BASE, item_of, models_of, read_yaml

_WIDTH = 96


def documented(
    values: Mapping[str, Any], model: type[Config] = Config, seen: set[Any] | None = None
) -> str:
    """Return ``values`` as YAML with every key's description above its first use.

    ``model`` is the config with the sections of papers; ``seen``, which grows, what is described.
    """
    return "\n".join(_lines(model, values, 0, set() if seen is None else seen)) + "\n"


def _lines(
    model: type[BaseModel], values: Mapping[str, Any], depth: int, seen: set[Any]
) -> Iterator[str]:
    fields, absent = model.model_fields, []
    if unknown := sorted(set(values) - set(fields)):
        raise ValueError(f"{model.__name__} has no key {unknown[0]!r}, which would be lost")
    descriptions = described(model)
    for key, field in fields.items():
        if key in values:
            description = descriptions.get(key, "")
            if depth == 0 or (key, description) not in seen:
                yield from _comment(description, depth)
            seen.add((key, description))
            yield from _entry(key, values[key], field.annotation, depth, seen)
        elif isinstance(field.default, str | int | float | tuple | list | None):
            absent.append(f"{key} ({_flow(field.default)})")
    if depth and absent and model not in seen:
        yield from _comment("Left at their defaults: " + ", ".join(absent), depth)
    seen.add(model)


def _entry(key: str, value: Any, annotation: Any, depth: int, seen: set[Any]) -> Iterator[str]:
    pad, text, item = "  " * depth, f"{key}: {_flow(value)}", item_of(annotation)
    if isinstance(value, Mapping) and (models := models_of(annotation, value)):
        yield f"{pad}{key}:"
        yield from _lines(models[0], value, depth + 1, seen)
    elif isinstance(value, Mapping) and (models_of(item, None) or len(pad + text) > _WIDTH):
        yield f"{pad}{key}:"
        for name, inner in value.items():
            yield from _entry(str(name), inner, item, depth + 1, seen)
    else:
        yield textwrap.indent(text, pad)


def _flow(value: Any) -> str:
    value = list(value) if isinstance(value, tuple) else value
    style: dict[str, Any] = {"default_flow_style": True, "allow_unicode": True, "sort_keys": False}
    text: str = yaml.safe_dump(value, width=_WIDTH, **style)
    return text.removesuffix("\n").removesuffix("\n...")


def _comment(text: str, depth: int) -> list[str]:
    pad = "  " * depth + "# "
    return textwrap.wrap(text, _WIDTH + 2, initial_indent=pad, subsequent_indent=pad)


@cache
def described(model: type[BaseModel]) -> dict[str, str]:
    """Return the descriptions of a model's fields: ``Field(description=...)`` or the docstring."""
    texts: dict[str, str] = {}
    for base in reversed(model.__mro__):
        for each in pairwise(_bodies(base.__module__).get(base.__name__, ())):
            match each:
                case (ast.AnnAssign(target=ast.Name(key)), ast.Expr(ast.Constant(str(text)))):
                    texts[key] = inspect.cleandoc(text)
    fields = model.model_fields
    texts |= {key: field.description for key, field in fields.items() if field.description}
    return {key: texts[key] for key in fields if key in texts}


@cache
def _bodies(module: str) -> dict[str, list[ast.stmt]]:
    """Return what the classes of a module consist of; nothing, if it is not in Python."""
    with suppress(OSError, TypeError):
        tree = ast.parse(inspect.getsource(sys.modules[module]))
        return {item.name: item.body for item in ast.walk(tree) if isinstance(item, ast.ClassDef)}
    return {}


class DescribedSchema(GenerateJsonSchema):
    """JSON schema with descriptions, in which every entry of a mapping may be null: removed."""

    def model_schema(self, schema: Any) -> JsonSchemaValue:
        """Add the descriptions of a model's fields."""
        result = super().model_schema(schema)
        for key, text in described(schema["cls"]).items():
            result["properties"][key]["description"] = text
        return result

    def dict_schema(self, schema: Any) -> JsonSchemaValue:
        """Let entries be null."""
        mapping, null = super().dict_schema(schema), {"type": "null"}
        entry = mapping.get("additionalProperties")
        if isinstance(entry, dict) and entry and null not in entry.get("anyOf", ()):
            mapping["additionalProperties"] = {"anyOf": [entry, null]}
        return mapping


def shared_schema() -> dict[str, Any]:
    """Return the JSON schema of what all papers share, for editors.

    A file holds a part of a config, so that nothing is required at its top, nor of families, which
    may be `like` others.
    """
    schema = Config.model_json_schema(schema_generator=DescribedSchema)
    del schema["required"]
    schema["patternProperties"] = {r"^[a-z]+\d{4}$": {"type": "object"}}  # sections of papers
    for model in ("AdjustmentRuns", "FinetuningRuns", "Search", "Choices", "Choice"):
        del schema["$defs"][model]["required"]
    families = schema["properties"]["runs"]["additionalProperties"]["anyOf"][0]
    families["anyOf"] = families.pop("oneOf")
    del families["discriminator"]
    return schema


def paper_schema(paper: str, section: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a paper's config file, which extends the shared one."""
    schema = section.model_json_schema(schema_generator=DescribedSchema)
    definitions = schema.pop("$defs", {})
    shared = [{"$ref": "../schema.json"}]
    return {"allOf": shared, "properties": {paper: schema}, "$defs": definitions}


def write(
    model: type[Config], sections: Mapping[str, type[BaseModel]], root: Path = Path(".")
) -> list[Path]:
    """Regenerate config files and JSON schemas below a folder; return what was written.

    ``model`` is the config with the ``sections`` of all papers.
    """
    schemas = {root / BASE: shared_schema()}
    for paper, section in sections.items():
        schemas[root / f"config/papers/{paper}.yaml"] = paper_schema(paper, section)
    seen, written = set[Any](), []
    for path, schema in schemas.items():
        name = "schema.json" if path == root / BASE else f"{path.stem}.schema.json"
        head = (
            "# Written by `python -m mbert_atlas.config.documentation write`: change values and "
            f"rerun.\n# yaml-language-server: $schema={name}\n\n"
        )
        path.write_text(head + documented(read_yaml(path), model, seen), encoding="utf-8")
        text = json.dumps(schema, indent=1, ensure_ascii=False, sort_keys=True)
        path.with_name(name).write_text(text + "\n", encoding="utf-8")
        written += [path, path.with_name(name)]
    return written


if __name__ == "__main__":
    if sys.argv[1:] != ["write"]:
        sys.exit("usage: python -m mbert_atlas.config.documentation write")
    # Papers import this package; it imports them only where it is run as a program.
    papers = importlib.import_module("mbert_atlas.papers")
    models = {paper: papers.section(paper) for paper in papers.names()}
    for item in write(papers.config_model(models), models):
        print(item)

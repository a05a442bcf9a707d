"""What the models of all sections share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler


def _whole_path(path: str) -> str:
    if path != path.strip() or path.startswith("~") or "$" in path:
        raise ValueError(f"~ and $ are not filled in, and blanks count: {path!r} is no such path")
    return path


Protocol = Literal["published", "corrected"]
OnlyWith = Mapping[str, tuple[str, Any]]
Seed = Annotated[int, Field(ge=0)]
FilePath = Annotated[str, Field(min_length=1), AfterValidator(_whole_path)]
PROTOCOLS: tuple[Protocol, ...] = ("published", "corrected")


def _strict(schema: Any, model: type) -> Any:
    """Return a core schema of a model with the rules of :class:`ConfigModel` in all its fields."""
    if isinstance(schema, list):
        return [_strict(item, model) for item in schema]
    if not isinstance(schema, dict) or schema.get("cls", model) is not model:
        return schema  # no schema, or another model, which has the rules already
    kept = ("default", "metadata", "serialization")
    schema = {key: item if key in kept else _strict(item, model) for key, item in schema.items()}
    match schema.get("type"):
        case "int" | "bool":
            return {**schema, "strict": True}
        case "float":
            return _called("before", _number, schema)
        case "list":
            schema.setdefault("min_length", 1)
            return _called("after", _distinct, schema)
        case "dict" if schema.get("values_schema", {}).get("type") != "nullable":
            return _called("before", without_nulls, schema)
    return schema


def _called(when: str, function: Callable[[Any], Any], schema: Any) -> dict[str, Any]:
    """Return a core schema with a function that is called before or after it."""
    called = {"type": "no-info", "function": function}
    return {"type": f"function-{when}", "function": called, "schema": schema}


def _number(value: Any) -> Any:
    # YAML 1.1 takes 1e-5 for a text.
    if isinstance(value, bool):
        raise ValueError(f"Input should be a valid number, found {str(value).lower()}")
    return value


def _distinct(values: list[Any]) -> list[Any]:
    for number, value in enumerate(values):
        if value in values[:number]:
            raise ValueError(f"the same twice: {value}")
    return values


def without_nulls(value: Any) -> Any:
    """Return a mapping without the entries that are null, and anything else as it is."""
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if item is not None}
    return value


class ConfigModel(BaseModel):
    """A part of the config: unknown keys are refused, and nothing changes once it is read.

    Values are not bent until they fit: 1.0 and true are no integers. Lists have something in them,
    unless their field says ``min_length=0``, and nothing twice. Null takes an entry out of a
    mapping whose entries cannot be null.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    only_with: ClassVar[OnlyWith] = {}
    """Keys that count only if another key has one value (``...``: any); else they are refused."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> Any:
        """Return pydantic's schema with these rules in every field."""
        return _strict(handler(source), source)

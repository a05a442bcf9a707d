"""What the models of all sections share."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler


def _whole_path(path: str) -> str:
    if path != path.strip() or path.startswith("~") or "$" in path:
        raise ValueError(f"~ and $ are not expanded, and blanks count: {path!r} is no such path")
    return path


Protocol = Literal["published", "corrected"]
OnlyWith = Mapping[str, tuple[str, Any]]
Seed = Annotated[int, Field(ge=0)]
FilePath = Annotated[str, Field(min_length=1), AfterValidator(_whole_path)]
PROTOCOLS: tuple[Protocol, ...] = ("published", "corrected")


def _strict(schema: Any, model: type) -> Any:
    """Return the core schema of a model with the rules of :class:`ConfigModel` in all fields."""
    if isinstance(schema, list):
        return [_strict(item, model) for item in schema]
    if not isinstance(schema, dict) or schema.get("cls", model) is not model:
        return schema  # not a schema, or another model, which has the rules already
    kept = ("default", "metadata", "serialization")
    schema = {key: item if key in kept else _strict(item, model) for key, item in schema.items()}
    match schema.get("type"):
        case "int" | "bool":
            return {**schema, "strict": True}
        case "float":
            return _wrapped("before", _number, schema)
        case "list":
            schema.setdefault("min_length", 1)
            return _wrapped("after", _distinct, schema)
        case "dict" if schema.get("values_schema", {}).get("type") != "nullable":
            return _wrapped("before", _without_nulls, schema)
    return schema


def _wrapped(when: str, function: Callable[[Any], Any], schema: Any) -> dict[str, Any]:
    """Return a core schema with a function that is called before or after it."""
    call = {"type": "no-info", "function": function}
    return {"type": f"function-{when}", "function": call, "schema": schema}


def _number(value: Any) -> Any:
    # Texts are accepted: YAML 1.1 reads 1e-5 as one.
    if isinstance(value, bool):
        raise ValueError(f"Input should be a valid number, found {str(value).lower()}")
    return value


def _distinct(values: list[Any]) -> list[Any]:
    for number, value in enumerate(values):
        if value in values[:number]:
            raise ValueError(f"the same twice: {value}")
    return values


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if item is not None}
    return value


class ConfigModel(BaseModel):
    """An immutable part of the config; unknown keys raise an error.

    Values are not coerced: 1.0 and true are no integers. Lists hold at least one item, unless their
    field has ``min_length=0``, and none twice. Null removes an entry from a mapping whose entries
    cannot be null.
    """

    # Without use_attribute_docstrings, which reads the source of every model at each start: the
    # docstrings of fields are for `mbert_atlas.config.documentation`, which reads them itself.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    only_with: ClassVar[OnlyWith] = {}
    """Keys that have an effect only if another key has one value (``...``: any)."""

    def counts(self, key: str) -> bool:
        """Return whether a key does anything, see ``only_with``."""
        if key not in self.only_with:
            return True
        other, wanted = self.only_with[key]
        if not hasattr(self, other):
            return True
        value = getattr(self, other)
        return value is not None if wanted is ... else bool(value == wanted)

    def relevant(self) -> dict[str, Any]:
        """Return the values as plain JSON, without defaults of none and keys that do nothing."""
        values = self.model_dump(mode="json")
        for key, field in type(self).model_fields.items():
            value = getattr(self, key)
            if (value is None and field.default is None) or not self.counts(key):
                del values[key]
            elif isinstance(value, ConfigModel):
                values[key] = value.relevant()
        return values

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return _strict(handler(source), source)

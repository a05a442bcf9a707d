"""Which model describes which part of a config."""

from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

_TAGS = ("corpus", "kind", "task")
"""Keys that discriminate the models of a union."""


def tags_of(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the tags by which a union selects a model; none if it is in no union."""
    fields = [model.model_fields[key] for key in _TAGS if key in model.model_fields]
    return get_args(fields[0].annotation) if fields else ()


def item_of(annotation: Any) -> Any:
    """Return the type of the items of a mapping or list; none for anything else."""
    if get_origin(annotation) in (Union, UnionType):
        return next(filter(None, map(item_of, get_args(annotation))), None)
    return get_args(annotation)[-1] if get_origin(annotation) in (dict, list) else None


def models_of(annotation: Any, value: Any) -> list[type[BaseModel]]:
    """Return the models of a field: one, or those of a union; none for plain values.

    The model with the tag of ``value``, or else with most of its keys, comes first.
    """
    models = _models_in(annotation)
    tags = {str(value.get(key)) for key in _TAGS} if isinstance(value, Mapping) else set()
    # The kind of a family that is `like` another is the other's.
    return sorted(models, key=lambda item: (tags.isdisjoint(tags_of(item)), _misfit(item, value)))


def models_at(annotation: Any, keys: Sequence[str], value: Any) -> list[type[BaseModel]]:
    """Return the models, see :func:`models_of`, of the part of ``value`` that ``keys`` lead to."""
    if get_origin(annotation) is list and not isinstance(value, list):  # one item for a list of it
        annotation = item_of(annotation)
    models = models_of(annotation, value)
    if not keys:
        return models
    key, *rest = keys
    inner = models[0].model_fields[key].annotation if models else item_of(annotation)
    return models_at(inner, rest, value[int(key) if isinstance(value, list) else key])


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (dict, list, tuple, None):
        return []
    return [model for argument in get_args(annotation) for model in _models_in(argument)]


def _misfit(model: type[BaseModel], value: Any) -> int:
    """Count the keys of a mapping, and of those in it, that a model and its parts lack."""
    misfits = 0
    for key, item in value.items() if isinstance(value, Mapping) else ():
        if key not in model.model_fields:
            misfits += 1
        elif parts := _models_in(model.model_fields[key].annotation):
            misfits += min(_misfit(part, item) for part in parts)
    return misfits

"""Marks on the types of fields: what a value means to the rest of the config."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from mbert_atlas.config.base import ConfigModel


@dataclass(frozen=True)
class Targets:
    """Marks languages that are evaluated: `add_languages` and `remove_languages` change them.

    They are a list, or a mapping with dataset/language by target.
    """


@dataclass(frozen=True)
class Trained:
    """Marks the name of a dataset that is trained on, in all its languages, or that chooses."""


TargetLanguages = Annotated[list[str], Targets()]
TrainingDataset = Annotated[str, Trained()]
Keys = tuple[str | int, ...]


def place_of(keys: Keys) -> str:
    """Return keys as mistakes have them, with dots."""
    return ".".join(map(str, keys))


def marked(part: Any, kind: Any = None, keys: Keys = ()) -> Iterator[tuple[Keys, Any, Any]]:
    """Yield keys, value and mark of every marked value in a part of a config.

    The part is a model, or values of a type (``kind``) that holds models or marks; ``keys`` lead to
    it. Models are yielded, too, with their class as mark.
    """
    if part is None or kind in (bool, int, float, str):
        return
    origin, (inner, *rest) = get_origin(kind), get_args(kind) or (None,)
    if isinstance(part, ConfigModel):
        yield keys, part, type(part)
        for key, inner in _kinds(type(part)).items():
            yield from marked(getattr(part, key), inner, (*keys, key))
    elif origin is Annotated:
        yield from ((keys, part, mark) for mark in rest)
        yield from marked(part, inner, keys)
    elif origin in (Union, UnionType):
        for one in (inner, *rest):
            yield from marked(part, one, keys)
    elif origin is dict and isinstance(part, Mapping):
        for key, item in part.items():
            yield from marked(key, inner, (*keys, key))
            yield from marked(item, rest[0], (*keys, key))
    elif origin in (list, tuple) and isinstance(part, list | tuple):
        for number, item in enumerate(part):
            yield from marked(item, inner, (*keys, number))


@cache
def _kinds(model: type[ConfigModel]) -> Mapping[str, Any]:
    """Return the types, with their marks, of the fields of a model that hold models or marks."""
    kinds = {
        key: Annotated[field.annotation, *field.metadata, None]
        for key, field in model.model_fields.items()
    }
    return {key: kind for key, kind in kinds.items() if _holds_marks(kind)}


def _holds_marks(kind: Any) -> bool:
    if get_origin(kind) is Annotated:
        inner, *marks = get_args(kind)
        return any(is_dataclass(mark) for mark in marks) or _holds_marks(inner)
    if isinstance(kind, type) and issubclass(kind, ConfigModel):
        return True
    return any(map(_holds_marks, get_args(kind)))


def value_in(part: Any, keys: Keys) -> Any:
    """Return what keys of models and mappings lead to."""
    for key in keys:
        part = part[key] if isinstance(part, Mapping) else getattr(part, str(key))
    return part


def with_value(part: Any, keys: Keys, value: Any) -> Any:
    """Return a model or mapping with another value where keys lead to."""
    if not keys:
        return value
    key, *rest = keys
    if isinstance(part, ConfigModel):
        name = str(key)
        return part.model_copy(update={name: with_value(getattr(part, name), (*rest,), value)})
    return {**part, key: with_value(part[key], (*rest,), value)}

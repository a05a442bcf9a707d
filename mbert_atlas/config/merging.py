"""Config mappings that override each other, and single values by their path."""

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

Keys = tuple[str, ...]


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` overridden by ``over``, mapping by mapping, as Snakemake merges configs."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            value = merge(below, value)
        merged[key] = value
    return merged


def value_at(values: Any, keys: Iterable[str]) -> Any:
    """Return what keys lead to, one within the other; none if one of them is not there."""
    for key in keys:
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def mapping_at(values: Any, *keys: str) -> Mapping[str, Any]:
    """Return the mapping that keys lead to; an empty one, if it is not there."""
    inner = value_at(values, keys)
    return inner if isinstance(inner, Mapping) else {}


def leaves(values: Mapping[str, Any], above: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Yield keys and value of all that is no mapping."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from leaves(value, (*above, key))
        else:
            yield (*above, key), value


def with_values(base: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with other values at some paths, such as ``optimisation.batch_size``."""
    merged = dict(base)
    for path, value in values.items():
        change: Any = reduce(lambda inner, key: {key: inner}, reversed(path.split(".")), value)
        merged = merge(merged, change)
    return merged

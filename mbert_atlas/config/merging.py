"""Mappings laid over each other, and single values by their path."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any


def laid_over(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with ``over`` laid on it, mapping by mapping, as Snakemake merges configs."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            merged[key] = laid_over(below, value)
        else:
            merged[key] = value
    return merged


def in_order_of(values: Mapping[str, Any], like: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``values`` with the keys of ``like`` first, in its order, mapping by mapping.

    Snakemake lists what a preset changes before what it leaves alone; the order of conditions and
    panels is the lower file's.
    """
    known = [key for key in like if key in values]
    return {
        key: in_order_of(values[key], like[key])
        if isinstance(values[key], Mapping) and isinstance(like.get(key), Mapping)
        else values[key]
        for key in dict.fromkeys([*known, *values])
    }


def with_values(base: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with other values at some paths, such as ``optimisation.batch_size``."""
    merged = dict(base)
    for path, value in values.items():
        change: Any = reduce(lambda inner, key: {key: inner}, reversed(path.split(".")), value)
        merged = laid_over(merged, change)
    return merged

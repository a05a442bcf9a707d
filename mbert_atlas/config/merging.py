"""Config mappings that override each other, and single values by their path."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

Keys = tuple[str, ...]
SOURCES = ("hub", "folder", "scratch", "changed")
"""Keys of an encoder, one of which it has: where it comes from."""


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` overridden by ``over``, mapping by mapping, as Snakemake merges configs."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            value = merge(below, value)
        merged[key] = value
    return merged


def merge_all(files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the files merged, the last one wins.

    A mapping over a null starts from what the null took away.
    """
    merged: dict[str, Any] = {}
    for file in reversed(files):
        merged = merge(_without_revived(file, merged), merged)
    return merged


def _without_revived(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``below`` without its nulls where ``above`` has mappings."""
    kept = {}
    for key, value in below.items():
        inner = above.get(key)
        if isinstance(inner, Mapping):
            if value is None:
                continue
            if isinstance(value, Mapping):
                value = _without_revived(value, inner)
        kept[key] = value
    return kept


def with_last_source(values: Any, files: Sequence[Mapping[str, Any]]) -> Any:
    """Return an encoder whose source is that of the last of the files that names one.

    ``values`` are its keys as merged from its parts in ``files``, perhaps with more over them. One
    source replaces another: what files below say of others, or of another hub repository, does not
    count. Two sources in one place both stay, which is a mistake.
    """
    if not isinstance(values, Mapping):
        return values
    last: set[str] = set()
    hub: dict[str, Any] = {}
    merged = merge_all(files)
    for part in [*files, {key: item for key, item in values.items() if merged.get(key) != item}]:
        if named := {key for key in SOURCES if part.get(key) is not None}:
            last = named
        here = mapping_at(part, "hub")
        is_another = here.get("repository", hub.get("repository")) != hub.get("repository")
        hub = {**here} if is_another else {**hub, **here}
    kept = {key: item for key, item in values.items() if key not in SOURCES or key in last}
    return kept | ({"hub": hub} if isinstance(kept.get("hub"), Mapping) else {})


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

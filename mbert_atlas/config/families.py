"""Families of runs that are like others, or one for each of several encoders or settings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.config.merging import merge
from mbert_atlas.config.mistakes import Mistake, check_name
from mbert_atlas.config.runs import Runs


def completed(runs: Any) -> Any:
    """Return families, as read, with what each takes from the one that it is ``like``.

    One with ``variants`` becomes a family for each, whose settings override it. One that is
    null stays so, and so does what is like it.

    Raises:
        Mistake: if that one is not there, families are like each other in a circle, or there are
            variants and the name has no ``*``.
    """
    if not isinstance(runs, Mapping) or not all(
        isinstance(family, Mapping | None) for family in runs.values()
    ):
        return runs  # pydantic reports what is wrong with it

    def complete(name: str, seen: Sequence[str] = ()) -> Mapping[str, Any] | None:
        family: Mapping[str, Any] | None = runs[name]
        other = family.get("like") if family else None
        if family is None or other is None:
            return family
        if name in seen:
            circle = " -> ".join([*seen, name])
            raise Mistake(f"runs.{name}.like", f"{circle} is a circle", "break it")
        check_name(f"runs.{name}.like", other, runs)
        whole = complete(other, [*seen, name])
        return None if whole is None else _like(whole, family)

    families: dict[str, Any] = {}
    for name in runs:
        for variant, family in _by_variant(name, complete(name)):
            families[variant] = family and _corrected_over_published(family)
    # One of those that `*` stands for can be left out by its own name, too.
    families |= {name: None for name, family in runs.items() if family is None}
    for name, family in families.items():
        if family and isinstance(starts := family.get("encoders"), list):
            own_names = {start: name.replace("*", str(start)) for start in starts}
            left = [start for start in starts if runs.get(own_names[start], "") is not None]
            families[name] = None if starts and not left else {**family, "encoders": left}
    return families


def _by_variant(
    name: str, family: Mapping[str, Any] | None
) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    variants = family.get("variants") if family else None
    if family is None or not isinstance(variants, Mapping):
        yield name, family
        return
    if "*" not in name:
        raise Mistake(f"runs.{name}", "a family with `variants` has `*` in its name", "add it")
    for variant, settings in variants.items():
        if isinstance(settings, Mapping):  # null leaves one out
            whole = _like({**family, "variants": None}, {"published": settings})
            yield name.replace("*", str(variant)), whole


def spread(runs: Mapping[str, Runs]) -> dict[str, Runs]:
    """Return one family for each of several ``encoders``, in the languages of what it starts from.

    Raises:
        Mistake: if a name has ``*`` and the family no ``encoders``, or the reverse, or two families
            come to one name.
    """
    families: dict[str, Runs] = {}
    for name, family in runs.items():
        if (family.encoders is not None) != ("*" in name):
            raise Mistake(
                f"runs.{name}",
                "`*` in a family's name and its key `encoders` (or `variants`) belong together",
                "write both or neither",
            )
        for encoder in [""] if family.encoders is None else family.encoders:
            new_name = name.replace("*", encoder)
            if new_name in families:
                raise Mistake(f"runs.{name}", f"{new_name!r} is there twice", "rename one")
            update = {"encoder": encoder, "encoders": None} if encoder else {}
            families[new_name] = family.model_copy(update=update)
    for name, family in families.items():
        below = families.get(family.encoder or "")
        # A chain of families inherits in the order of the config.
        if family.languages is None and below is not None and below.languages:
            families[name] = family.model_copy(update={"languages": below.languages})
    return families


def _like(family: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``own`` with what it lacks taken from another family."""
    merged = {**family, **own}
    if "encoders" in own:
        merged.pop("encoder", None)
    if "encoder" in own:
        merged.pop("encoders", None)
    if isinstance(family.get("search"), Mapping) and isinstance(own.get("search"), Mapping):
        merged["search"] = merge(family["search"], own["search"])
    # Changes to `published` hold for both protocols, unless `corrected` says otherwise.
    changes: list[Mapping[str, Any]] = []
    for protocol in PROTOCOLS:
        below, above = family.get(protocol), own.get(protocol, {})
        if isinstance(below, Mapping) and isinstance(above, Mapping):
            changes.append(above)
            for change in changes:
                below = merge(below, change)
            merged[protocol] = below
    return merged


def _corrected_over_published(family: Mapping[str, Any]) -> Mapping[str, Any]:
    below, above = (family.get(protocol) for protocol in PROTOCOLS)
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        return {**family, "corrected": merge(below, above)}
    return family

"""What happens to a merged config before it is validated.

Languages are replaced, families completed, and entries that are null removed, together with what
depends on them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.config.merging import mapping_at, merge, value_at
from mbert_atlas.config.mistakes import Mistake, check_name

_NEEDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "datasets": {"made_from": ("datasets",), "paragraphs": ("datasets",), "encoder": ("encoders",)},
    "encoders": {"changed.encoder": ("encoders",), "scratch.tokenizer_of": ("encoders",)},
    "static_vectors": {"encoder": ("encoders",)},
    "encodings": {},
    "runs": {
        **{"encoder": ("encoders", "runs"), "encoding": ("encodings",), "train": ("datasets",)},
        **{"bitext": ("datasets",), "language_data.dataset": ("datasets",)},
        "language_data.encoding": ("encodings",),
    },
}
"""The keys of an entry that name what it depends on, and the sections that define it."""
NAMED = tuple(_NEEDS)
"""Sections whose entries other parts of the config name."""
_NO_LANGUAGES = {
    *("files", "files_by_language", "hub", "folder", "downloads", "mirror", "run", "preset"),
    *("languages_instead", "add_languages", "remove_languages"),
}
"""Keys whose values name no languages."""


def prepared(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a merged config as it is validated.

    Raises a Mistake, as :func:`completed`, or if no list has a language that is to be replaced.
    """
    values = _with_languages_instead(values)
    values = {**values, "runs": completed(values.get("runs") or {})}
    return _without_removed(_without_unread(values))


def asked_for(values: Mapping[str, Any]) -> set[str]:
    """Return the names of the datasets and encoders that runs or artifacts of a config need.

    A text anywhere in it counts as a name, so that there may be too many, and never too few.
    """
    sections = [mapping_at(values, section) for section in NAMED[:-1]]
    entries = {name: _texts(entry) for section in sections for name, entry in section.items()}
    for bitext, name in mapping_at(values, "alignment", "gold").items():
        entries.setdefault(bitext, set()).add(name)
    left_out = {*NAMED[:-1], "alignment"}
    needed = _texts({key: item for key, item in values.items() if key not in left_out})
    while more := set().union(*(entries.pop(name) for name in needed & entries.keys())):
        needed |= more
    return needed


def _texts(item: Any) -> set[Any]:
    """Return all keys and texts in a part of a config; of ``name/language`` the name, too."""
    if isinstance(item, Mapping):
        return set(item).union(*map(_texts, item.values()))
    if isinstance(item, list | tuple):
        return set().union(*map(_texts, item))
    return {item, item.partition("/")[0]} if isinstance(item, str) else set()


def _without_unread(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a config without replacing languages that have no file and that nothing reads."""
    instead, datasets = mapping_at(values, "languages_instead"), mapping_at(values, "datasets")
    if not instead or not datasets:
        return values
    needed, changed = asked_for(values), dict[str, Any]()
    for name, item in datasets.items():
        languages, files = (value_at(item, [key]) for key in ("languages", "files_by_language"))
        if isinstance(languages, list) and isinstance(files, Mapping) and not item.get("files"):
            kept = [
                code
                for code in languages
                if code in files
                or code not in instead.values()
                or any(_reads(part, name, code) for part in _readers(values, name, code, needed))
            ]
            changed[name] = {**item, "languages": kept} if kept else None
    return {**values, "datasets": {**datasets, **changed}}


def _readers(
    values: Mapping[str, Any], dataset: str, code: str, needed: Collection[str]
) -> Iterator[Any]:
    """Yield the parts of a config that may read a dataset in a language."""
    sections = [values.get(section) or {} for section in NAMED]
    for key, part in values.items():
        if key not in (*NAMED, "alignment", "languages_instead", "fitted_head"):
            # Papers read running texts in the languages of other keys.
            is_text = values["datasets"][dataset].get("corpus") in ("wikipedia", "plain_text")
            if not is_text or code in _texts(part):
                yield part
    yield values.get("runs")
    entries = [entry for section in sections[:-1] for entry in section.items()]
    used = [entry for name, entry in entries if name in needed and name != dataset]
    yield from used
    if any(value_at(entry, ["language_model_head"]) for entry in used):
        yield values.get("fitted_head")


def _reads(part: Any, dataset: str, code: str) -> bool:
    """Return whether a part of a config names a dataset, and no languages without this one."""
    if isinstance(part, list):
        return any(_reads(item, dataset, code) for item in part)
    if not isinstance(part, Mapping):
        return False
    for key, item in part.items():
        languages = item if key == dataset else None
        if item == dataset or (isinstance(item, list) and dataset in item):
            languages = part.get("train_languages" if key == "train" else "languages")
        elif key != dataset:
            if _reads(item, dataset, code):
                return True
            continue
        if not isinstance(languages, list) or code in languages or "{language}" in languages:
            return True
    return False


def completed(runs: Any) -> Any:
    """Return families, as read, with what each takes from the one that it is ``like``.

    One with ``*`` in its name becomes a family for each of its ``encoders`` or ``variants``, whose
    settings override it. One that is null stays so, and so does what is like it. Raises a Mistake:
    a name is not there, or there twice; families are like each other in a circle; or there is a
    ``*`` without such keys, or the reverse.
    """
    if not isinstance(runs, Mapping):
        return runs  # pydantic reports what is wrong with it
    for name, family in runs.items():
        if not isinstance(family, Mapping | None):
            problem = f"a mapping is expected, found {family!r}"
            raise Mistake(f"runs.{name}", problem, "write the keys of a family, or null")

    def complete(name: str, seen: Sequence[str] = ()) -> Mapping[str, Any] | None:
        family: Mapping[str, Any] | None = runs[name]
        other = family.get("like") if family else None
        if family is None or other is None:
            return family
        if name in seen:
            circle = " -> ".join([*seen, name])
            raise Mistake(f"runs.{name}.like", f"{circle} is a circle", "break it")
        if not isinstance(other, str):
            problem = f"the name of a family is expected, found {other!r}"
            raise Mistake(f"runs.{name}.like", problem, "name one, or drop the key")
        check_name(f"runs.{name}.like", other, runs)
        whole = complete(other, [*seen, name])
        return None if whole is None else _like(whole, family)

    families: dict[str, Any] = {}
    for name in runs:
        for new_name, family in _each(name, complete(name)):
            if family is not None and families.get(new_name) is not None:
                raise Mistake(f"runs.{name}", f"{new_name!r} is there twice", "rename one")
            if family and isinstance(corrected := family.get("corrected"), Mapping):
                published = mapping_at(family, "published")
                family = {**family, "corrected": merge(published, corrected)}
            families[new_name] = family
    # One of those that `*` stands for can be left out by its own name, too.
    return families | {name: None for name, family in runs.items() if family is None}


def _each(
    name: str, family: Mapping[str, Any] | None
) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """Yield name and content of every family that one with ``*`` stands for."""
    if family is None:
        yield name, family
        return
    encoders, variants = family.get("encoders"), family.get("variants")
    if ("*" in name) != (encoders is not None or variants is not None):
        problem = "`*` in a family's name and its key `encoders` or `variants` belong together"
        raise Mistake(f"runs.{name}", problem, "write both or neither")
    if isinstance(variants, Mapping):
        for variant, settings in variants.items():
            if settings is not None and not isinstance(settings, Mapping):
                problem = f"settings are expected, found {settings!r}"
                fix = "write them as a mapping, or null"
                raise Mistake(f"runs.{name}.variants.{variant}", problem, fix)
            if settings is not None:  # null leaves one out
                whole = _like({**family, "variants": None}, {"published": settings})
                yield name.replace("*", str(variant)), whole
    elif isinstance(encoders, list) and encoders:
        for encoder in encoders:
            yield name.replace("*", str(encoder)), {**family, "encoder": encoder}
    else:  # of one family, or pydantic reports what is wrong with it
        yield name, family


def _like(family: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``own`` with what it lacks taken from another family."""
    merged = {**family, **own}
    for key, other in (("encoders", "encoder"), ("encoder", "encoders")):
        if key in own:
            merged.pop(other, None)
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


def _with_languages_instead(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a config with other languages in place of some, each once in a list or mapping."""
    instead = mapping_at(values, "languages_instead")
    if not instead or not all(isinstance(code, str) for code in instead.values()):
        return values  # pydantic reports what is wrong with it
    seen = set[str]()

    def other(text: Any) -> Any:
        # Some values name a dataset or a family and, after a slash, its language.
        name, slash, language = text.rpartition("/") if isinstance(text, str) else ("", "", text)
        if not isinstance(language, str) or language not in instead:
            return text
        seen.add(language)
        return f"{name}{slash}{instead[language]}"

    def replaced(item: Any) -> Any:
        if isinstance(item, Mapping):
            inner = {k: v if k in _NO_LANGUAGES else replaced(v) for k, v in item.items()}
            unchanged = {key: value for key, value in inner.items() if other(key) == key}
            return {other(key): value for key, value in inner.items()} | unchanged
        if isinstance(item, list):
            changed = [replaced(value) for value in item]
            distinct = [value for n, value in enumerate(changed) if value not in changed[:n]]
            return item if changed == item else distinct
        return other(item)

    config: dict[str, Any] = replaced(values)
    if unused := sorted(set(map(str, instead)) - seen):
        problem = f"no list of the config has the language {unused[0]!r}"
        place = f"languages_instead.{unused[0]}"
        raise Mistake(place, problem, "delete it or correct its code")
    return config


def _without_removed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config without the entries that are null and what depends on them.

    Of what a family predicts, only the dataset is removed. What the sections of papers name stays,
    for their checks to report.
    """
    named = [name for name in NAMED if isinstance(values.get(name), Mapping)]
    kept = {name: dict[str, Any](values[name]) for name in named}
    removed: dict[str, set[str]] = {name: set() for name in NAMED}
    before = -1
    while before < (before := sum(map(len, removed.values()))):
        for section, entries in kept.items():
            entries |= {n: _remaining(it, _NEEDS[section], removed) for n, it in entries.items()}
            removed[section] |= {name for name, entry in entries.items() if entry is None}
            kept[section] = {name: it for name, it in entries.items() if it is not None}
    if gold := mapping_at(values, "alignment", "gold"):
        gone = removed["datasets"]
        gold = {bitext: name for bitext, name in gold.items() if gone.isdisjoint((bitext, name))}
        kept["alignment"] = {**values["alignment"], "gold": gold}
    return {**values, **kept}


def _remaining(
    entry: Any, needs: Mapping[str, tuple[str, ...]], removed: Mapping[str, set[str]]
) -> Any:
    """Return an entry without the removed names in it; none: it depends on one of them."""
    if not isinstance(entry, Mapping):
        return entry
    for path, sections in needs.items():
        name = value_at(entry, path.split("."))
        if isinstance(name, str) and any(name in removed[section] for section in sections):
            return None
    entry = dict(entry)
    if sets := mapping_at(entry, "evaluate"):
        entry["evaluate"] = {k: it for k, it in sets.items() if k not in removed["datasets"]}
        if not entry["evaluate"]:
            return None
    if "search" in entry:
        entry["search"] = _remaining(entry["search"], {}, removed)
    return entry

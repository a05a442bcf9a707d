"""What a config takes back: entries by null, languages by others in their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mbert_atlas.config.base import without_nulls
from mbert_atlas.config.mistakes import Mistake

NAMED = ("datasets", "encoders", "static_vectors", "encodings", "runs")
"""Sections whose entries are named elsewhere."""
_KEPT = ("files", "files_by_language", "hub", "folder", "downloads", "mirror", "run", "preset")
"""Keys whose values name no languages."""


def with_languages_instead(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config as read with its ``languages_instead`` in place.

    A list that would have a language twice has it once; so does a mapping, whose own entry stays.

    Raises:
        Mistake: if nothing names a language that is to be replaced.
    """
    instead = values.get("languages_instead")
    if not isinstance(instead, Mapping):
        return dict(values)
    seen = set[str]()

    def other(code: Any) -> Any:
        if not isinstance(code, str):
            return code
        # Some keys name a dataset or a family and, after a slash, its language.
        name, slash, language = code.rpartition("/")
        if language not in instead:
            return code
        seen.add(language)
        return f"{name}{slash}{instead[language]}"

    def replaced(item: Any) -> Any:
        if isinstance(item, Mapping):
            found = {key: below if key in _KEPT else replaced(below) for key, below in item.items()}
            own = {key: below for key, below in found.items() if other(key) == key}
            return {other(key): below for key, below in found.items()} | own
        if isinstance(item, list):
            changed = [replaced(below) for below in item]
            if changed == item:
                return item
            return [below for n, below in enumerate(changed) if below not in changed[:n]]
        return other(item)

    found = {
        key: item if key in ("languages_instead", *_KEPT) else replaced(item)
        for key, item in values.items()
    }
    if unused := sorted(set(map(str, instead)) - seen):
        raise Mistake(
            f"languages_instead.{unused[0]}",
            f"no list of the config has the language {unused[0]!r}",
            "drop it or correct its code",
        )
    return found


def without_removed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config without the entries that are null and what cannot be without them.

    Datasets made from others, encoders changed from others, families that start from, are trained
    on or encoded by what is removed go with it; of what a family predicts, only the dataset goes.
    What the sections of papers name stays, for their checks to report.

    Args:
        values: as read, families completed.
    """
    found = dict(values)
    gone: dict[str, set[str]] = {section: set() for section in NAMED}
    for section in NAMED:
        if isinstance(entries := found.get(section), Mapping):
            gone[section] = {name for name, item in entries.items() if item is None}
            found[section] = without_nulls(dict(entries))
    if not any(gone.values()):
        return found
    while True:
        before = sum(map(len, gone.values()))
        for section in NAMED:
            entries = found.get(section)
            if not isinstance(entries, Mapping):
                continue
            entries = {name: _without(section, item, gone) for name, item in entries.items()}
            gone[section] |= {name for name, item in entries.items() if item is None}
            found[section] = without_nulls(entries)
        if sum(map(len, gone.values())) == before:
            break
    alignment = found.get("alignment")
    if isinstance(alignment, Mapping) and isinstance(gold := alignment.get("gold"), Mapping):
        left = {
            bitext: name
            for bitext, name in gold.items()
            if bitext not in gone["datasets"] and name not in gone["datasets"]
        }
        found["alignment"] = {**alignment, "gold": left}
    return found


def _needed(section: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield section and name of everything that an entry cannot be without."""

    def named(key: str, *kinds: str, inside: Any = entry) -> Iterator[tuple[str, str]]:
        if isinstance(inside, Mapping) and isinstance(name := inside.get(key), str):
            for kind in kinds:
                yield kind, name

    if section == "datasets":
        yield from named("made_from", "datasets")
        yield from named("paragraphs", "datasets")
        yield from named("encoder", "encoders")
    elif section == "encoders":
        yield from named("encoder", "encoders", inside=entry.get("changed"))
        yield from named("tokenizer_of", "encoders", inside=entry.get("scratch"))
    elif section == "static_vectors":
        yield from named("encoder", "encoders")
    elif section == "runs":
        yield from named("encoder", "encoders", "runs")
        yield from named("encoding", "encodings")
        for key in ("train", "bitext"):
            yield from named(key, "datasets")
        for key, kind in (("dataset", "datasets"), ("encoding", "encodings")):
            yield from named(key, kind, inside=entry.get("language_data"))


def _without(section: str, entry: Any, gone: Mapping[str, set[str]]) -> Any:
    """Return an entry without what is removed of the things it names; none: it goes, too."""
    if not isinstance(entry, Mapping):
        return entry
    if any(name in gone[kind] for kind, name in _needed(section, entry)):
        return None
    entry = dict(entry)
    if isinstance(starts := entry.get("encoders"), list):
        entry["encoders"] = [name for name in starts if name not in gone["encoders"] | gone["runs"]]
    if isinstance(tests := entry.get("evaluate"), Mapping):
        entry["evaluate"] = {name: it for name, it in tests.items() if name not in gone["datasets"]}
    if isinstance(search := entry.get("search"), Mapping):
        entry["search"] = _without("search", search, gone)
    is_left = all(
        entry[key] or entry[key] == before
        for key, before in (("encoders", starts), ("evaluate", tests))
        if key in entry
    )
    return entry if is_left else None

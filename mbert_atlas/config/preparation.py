"""What happens to a merged config before it is validated.

Languages are replaced, families completed, and entries that are null removed, together with what
depends on them.
"""

from collections.abc import Mapping
from typing import Any

from mbert_atlas.config.families import completed
from mbert_atlas.config.mistakes import Mistake

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
    "languages_instead",
}
"""Keys whose values name no languages."""


def prepared(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a merged config as it is validated.

    Raises:
        Mistake: no list has a language that is to be replaced, or families are like each other in a
            circle.
    """
    values = _with_languages_instead(values)
    return _without_removed({**values, "runs": completed(values.get("runs") or {})})


def _with_languages_instead(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a config with other languages in place of some, each once in a list or mapping."""
    instead = values.get("languages_instead")
    if not isinstance(instead, Mapping):
        return values
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
    sections = {name: values[name] for name in NAMED if isinstance(values.get(name), Mapping)}
    kept: dict[str, Any] = {name: dict(entries) for name, entries in sections.items()}
    removed: dict[str, set[str]] = {name: set() for name in NAMED}
    before = -1
    while before < (before := sum(map(len, removed.values()))):
        for section, entries in kept.items():
            entries |= {n: _remaining(it, _NEEDS[section], removed) for n, it in entries.items()}
            removed[section] |= {name for name, entry in entries.items() if entry is None}
            kept[section] = {name: it for name, it in entries.items() if it is not None}
    alignment, gone = values.get("alignment"), removed["datasets"]
    if isinstance(alignment, Mapping) and isinstance(gold := alignment.get("gold"), Mapping):
        gold = {bitext: name for bitext, name in gold.items() if gone.isdisjoint((bitext, name))}
        kept["alignment"] = {**alignment, "gold": gold}
    return {**values, **kept}


def _remaining(
    entry: Any, needs: Mapping[str, tuple[str, ...]], removed: Mapping[str, set[str]]
) -> Any:
    """Return an entry without the removed names in it; none: it depends on one of them."""
    if not isinstance(entry, Mapping):
        return entry
    for path, sections in needs.items():
        name: Any = entry
        for key in path.split("."):
            name = name.get(key) if isinstance(name, Mapping) else None
        if isinstance(name, str) and any(name in removed[section] for section in sections):
            return None
    entry = dict(entry)
    lists = {"encoders": removed["encoders"] | removed["runs"], "evaluate": removed["datasets"]}
    for key, gone in lists.items():
        before = entry.get(key)
        if isinstance(before, list):
            entry[key] = [name for name in before if name not in gone]
        elif isinstance(before, Mapping):
            entry[key] = {name: item for name, item in before.items() if name not in gone}
        if before and not entry[key]:
            return None
    if "search" in entry:
        entry["search"] = _remaining(entry["search"], {}, removed)
    return entry

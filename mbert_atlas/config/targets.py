"""Languages that are added to, or removed from, all that is evaluated: no list of them is copied.

Lists that change are those whose type says that they are targets (:class:`.marks.Targets`), and the
languages of the datasets that these are about. The checks of the config decide where a language can
be: it is added everywhere, and taken back where a check reports it.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mbert_atlas.config.encoders import ExtendedVocabulary, FittedHead, Scratch
from mbert_atlas.config.marks import Keys, Targets, Trained, marked, place_of, value_in, with_value
from mbert_atlas.config.mistakes import Mistake, check_name, gathering, going_on, report
from mbert_atlas.config.model import Config
from mbert_atlas.config.references import Reference, training_languages

_TRAINED = re.compile(r"runs\.\S+\.languages")
ADD, REMOVE = "add_languages", "remove_languages"
_SOURCE = "en"
Check = Callable[[Config], None]
Lacks = Callable[[Config, str, str], str]
"""Why the files of a dataset do not have a language; empty: they do."""


class _Place(NamedTuple):
    """A language in a list of targets, or in the languages of a dataset."""

    keys: Keys
    code: str


def with_other_languages(
    config: Config, checks: Iterable[Check], lacks: Lacks, codes: Collection[str] = ()
) -> Config:
    """Return a config with `add_languages` and without `remove_languages`.

    Its ``left_out`` says, a sentence each, where a language could not be added. ``codes`` are the
    languages that there are; if empty, any. Raises a Mistake: an unknown language, one that a
    training needs, or the last one of a list.
    """
    added, removed = config.add_languages, config.remove_languages
    if not added and not removed:
        return config
    with gathering() as mistakes:
        for key, listed in ((ADD, added), (REMOVE, removed)):
            for code in listed:
                check_name(key, code, codes or [code], " as a language")
        if config.comparable:
            problem = "means over other languages than the papers' are not comparable"
            report(Mistake(ADD if added else REMOVE, problem, "write `comparable: false`"))
        if _SOURCE in {*added, *removed}:
            key = ADD if _SOURCE in added else REMOVE
            fix = "leave it out of the list"
            report(Mistake(key, f"{_SOURCE!r} is a training language everywhere", fix))
        for code in set(added) & set(removed):
            report(Mistake(REMOVE, f"{code!r} is added, too", f"take it out of {ADD} or {REMOVE}"))
    if mistakes:
        raise _all(mistakes)
    checks = list(checks)
    if removed:
        config = _without(config, removed, checks)
    return _with(config, added, checks, lacks) if added else config


def _with(config: Config, added: Sequence[str], checks: Sequence[Check], lacks: Lacks) -> Config:
    lists, reasons = _target_lists(config), dict[_Place, str]()
    places = {
        _Place(keys, it) for keys, listed in lists.items() for it in added if not _has(listed, it)
    }
    wider = _extended(config, {place for place in places if place.keys[0] == "miniature"})
    for place in places:
        if place.keys[0] == "datasets" and (reason := lacks(wider, str(place.keys[1]), place.code)):
            reasons[place] = reason
    rest, pretrainings = places - reasons.keys(), list(_pretrainings(config))
    while True:
        extended = _extended(config, rest, pretrainings)
        reported = dict[_Place, str]()
        for mistake in _mistakes(extended, checks):
            for place in _owners(mistake, rest) if mistake.name in added else ():
                reported.setdefault(place, mistake.problem)
        if not reported:
            break
        reasons |= reported
        rest = rest - reported.keys()
    for code in added:
        listed = any(_has(codes, code) for codes in lists.values())
        if not listed and not any(place.code == code for place in rest):
            datasets = (place for place in reasons if place.keys[0] == "datasets")
            whys = Counter(sorted(reasons[it] for it in datasets if it.code == code))
            ((why, _),) = whys.most_common(1) or [("there is no list of targets", 1)]
            raise Mistake(ADD, f"nothing can have {code!r}: {why}", "name files that have it")
    extended._left_out.extend(_sentences(config, reasons))
    return extended


def _has(listed: Any, code: str) -> bool:
    """Whether a list of targets, or a mapping by language, has one that no null removes."""
    return code in listed and not (isinstance(listed, Mapping) and listed[code] is None)


def _without(config: Config, removed: Sequence[str], checks: Sequence[Check]) -> Config:
    mistakes, needs = list[Mistake](), defaultdict[str, list[str]](list)
    pretrained = {text for _, part in _pretrainings(config) for text in part.texts}
    for name, family in config.runs.items():
        trained = set(family.languages or ())
        if family.kind == "finetuning" and family.train in config.datasets:
            trained |= {*training_languages(config, family)}
        for code in trained & set(removed):
            needs[code].append(f"runs.{name}")
    if needs:
        raise _needed(needs, "are trained on", "is trained on")
    lists = _target_lists(config)
    for code in removed:
        if not any(code in listed for listed in lists.values()):
            mistakes.append(
                Mistake(REMOVE, f"no list has {code!r}", "delete it or correct its code")
            )
    for keys, listed in lists.items():
        if keys[0] == "datasets" and keys[1] in pretrained:
            continue  # texts that an encoder is trained on stay what they are
        rest = [code for code in listed if code not in removed]
        if rest == [*listed]:
            continue
        if not rest:
            problem = f"{place_of(keys)} has no other language"
            mistakes.append(Mistake(REMOVE, problem, "remove by null what it belongs to"))
        changed = {code: listed[code] for code in rest} if isinstance(listed, Mapping) else rest
        config = with_value(config, keys, changed)
    if mistakes:
        raise _all(mistakes)
    for mistake in _mistakes(config, checks):
        if mistake.name in removed:
            needs[mistake.name].append(mistake.place)
    if needs:
        raise _needed(needs, "need", "needs")
    return config


def _needed(needs: Mapping[str, Sequence[str]], verb: str, singular: str) -> Mistake:
    """Report, by language, what needs it, but for the last one, which is returned."""
    mistakes = []
    for code, listed in needs.items():
        places = list(dict.fromkeys(listed))
        more = f" and {len(places) - 1} more {verb}" if len(places) > 1 else f" {singular}"
        fix = "keep it, or change that first"
        mistakes.append(Mistake(REMOVE, f"{places[0]}{more} {code!r}", fix))
    return _all(mistakes)


def _all(mistakes: Sequence[Mistake]) -> Mistake:
    """Report all mistakes but the last one, which is returned, to be raised."""
    for mistake in mistakes[:-1]:
        report(mistake)
    return mistakes[-1]


def _mistakes(config: Config, checks: Iterable[Check]) -> list[Mistake]:
    with gathering() as mistakes:
        for check in checks:
            with going_on():
                check(config)
    return mistakes


def _target_lists(config: Config) -> dict[Keys, Any]:
    """Return the lists (or mappings by language) of targets that may change, by their keys."""
    evaluated, lists = _evaluated(config), dict[Keys, Any]()
    for keys, value, mark in marked(config):
        if not isinstance(mark, Targets):
            continue
        # Of a family, the last key is the dataset that it predicts.
        dataset = {"datasets": keys[1], "runs": keys[-1]}.get(str(keys[0]))
        is_template = any("{language}" in code for code in value)
        if (dataset is None or dataset in evaluated) and not is_template:
            lists[keys] = value
    # Targets of a table count if all of them are named by their languages.
    named = {
        keys[:-2]
        for keys, value in lists.items()
        if isinstance(value, Mapping) and not _dataset_of(value)
    }
    return {keys: value for keys, value in lists.items() if keys[:-2] not in named}


def _dataset_of(targets: Mapping[str, str | None]) -> str:
    """Return the dataset of targets that are named by their languages; empty: others are there."""
    places = {code: place.rpartition("/") for code, place in targets.items() if place}
    datasets = {dataset for dataset, _, _ in places.values()}
    is_by_language = all(code == language for code, (*_, language) in places.items())
    return datasets.pop() if is_by_language and len(datasets) == 1 else ""


def _evaluated(config: Config) -> set[str]:
    """Return the datasets that are predicted or measured, those behind them, and made from these.

    Those that something is trained on, or chosen by, are left out.
    """
    sections = set(type(config).model_fields) - set(Config.model_fields)
    names = {
        value
        for section in sections
        for _, value, mark in marked(getattr(config, section), type(getattr(config, section)))
        if isinstance(mark, Reference) and mark.sections == "datasets" and isinstance(value, str)
    }
    families = [family for family in config.runs.values() if family.kind == "finetuning"]
    names |= {name for family in families for name in family.evaluate}
    names &= config.datasets.keys()
    for name in list(names):
        while (parent := config.datasets[name].parent) in config.datasets and parent not in names:
            names.add(name := str(parent))
    while derived := {k for k, it in config.datasets.items() if it.parent in names} - names:
        names |= derived
    return names - {value for _, value, mark in marked(config) if isinstance(mark, Trained)}


def _pretrainings(config: Config) -> Iterator[tuple[Keys, Any]]:
    """Yield the parts of a config that train an encoder, or a part of one, on texts."""
    for keys, value, mark in marked(config):
        if mark is type(value) and isinstance(value, Scratch | ExtendedVocabulary | FittedHead):
            yield keys, value


def _extended(
    config: Config, places: Collection[_Place], pretrainings: Iterable[tuple[Keys, Any]] = ()
) -> Config:
    """Return a config with languages at the end of lists, and trainings as they are."""
    lists = defaultdict[Keys, list[str]](list)
    for keys, code in places:
        lists[keys].append(code)
    for keys, part in pretrainings:
        if not part.languages and any(("datasets", it, "languages") in lists for it in part.texts):
            texts = [config.datasets[text].languages for text in part.texts]
            every = dict.fromkeys(code for some in texts for code in some)
            config = with_value(config, (*keys, "languages"), [*every])
    order = {code: number for number, code in enumerate(config.add_languages)}
    for keys, codes in lists.items():
        value: Any = value_in(config, keys)
        codes.sort(key=order.__getitem__)
        if isinstance(value, Mapping):
            value = {**value, **{code: f"{_dataset_of(value)}/{code}" for code in codes}}
        else:
            value = [*value, *codes]
        config = with_value(config, keys, value)
    return config


def _owners(mistake: Mistake, places: Iterable[_Place]) -> list[_Place]:
    """Return where a language was added that a mistake is about: there, or nearest to it."""
    added = [place for place in places if place.code == mistake.name]
    parts = mistake.listed.split(".")
    while parts:
        at = ".".join(parts)
        for end in (None, -1):  # the list, or what it is a part of
            if near := [place for place in added if place_of(place.keys[:end]) == at]:
                return near
        parts.pop()
    return []


def _sentences(config: Config, reasons: Mapping[_Place, str]) -> list[str]:
    """Return where languages are not, a sentence for each reason.

    Nothing is said of families of runs, which predict what datasets have, of datasets that have
    what another has, and of those with one file in one language.
    """
    by_reason = defaultdict[tuple[int, str], dict[str, set[str]]](lambda: defaultdict(set))
    for (keys, code), reason in reasons.items():
        if keys[0] == "runs":
            continue
        if keys[0] == "datasets":
            dataset = config.datasets[str(keys[1])]
            is_single = len(dataset.languages) == 1 and "{" not in (dataset.files or "{")
            if dataset.parent or is_single:
                continue
        name = reason.removeprefix(f"{code!r} is not defined in ")
        why = reason if name == reason else f"it is not in {name}"
        runs = [name] if _TRAINED.fullmatch(name) else []
        named = by_reason[config.add_languages.index(code), "" if runs else why]
        place = place_of(keys)
        named["places"].add(place.removesuffix(".languages") if place.count(".") > 1 else place)
        named["runs"].update(runs)
    sentences = []
    for number, reason in sorted(
        by_reason, key=lambda key: (key[0], min(by_reason[key]["places"]))
    ):
        named = by_reason[number, reason]
        families, places = ", ".join(sorted(named["runs"])), _in_short(named["places"])
        why = reason or f"runs are trained by language, and it is not in {families}"
        sentences.append(f"{ADD}: {config.add_languages[number]} is not in {places}: {why}.")
    return sentences


def _in_short(places: Iterable[str]) -> str:
    """Return places in words, those of one section together: ``datasets.{xnli, mlqa}``."""
    by_section = defaultdict[str, list[str]](list)
    for place in sorted(places):
        section, _, rest = place.partition(".")
        by_section[section].append(rest)
    listed = {key: f"{{{', '.join(rest)}}}" for key, rest in by_section.items() if len(rest) > 1}
    return ", ".join(
        f"{key}.{listed.get(key, rest[0])}".rstrip(".") for key, rest in by_section.items()
    )

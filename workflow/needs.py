"""Whether the encoders of a config have what the requested artifacts need of them."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from mbert_atlas.config.encoders import Encoder, has_sentencepiece
from mbert_atlas.corpora.scripts import is_script
from mbert_atlas.encoders.families import FAMILIES
from mbert_atlas.encoders.folders import facts_of
from mbert_atlas.errors import DataError, joined
from mbert_atlas.plan.behind import files_behind, without_cells
from mbert_atlas.plan.needs import PRETRAINED, Facts, Need
from mbert_atlas.plan.plan import Plan
from mbert_atlas.plan.runs import Run
from workflow.samples import MOST_UNKNOWN_NAMES, unknown_names

TEXT_TASKS = {"nli", "language_identification"}
"""Tasks that classify texts, through the encoder's pooler."""


def check_needs(plan: Plan, targets: Sequence[str]) -> None:
    """Check the needs of the artifacts that targets stand for, as far as encoders are known.

    One on the hub is known once it is in the mirror or among the downloads. A DataError (several:
    DataErrors) names what an encoder lacks, the artifacts that need it, and the fix; and artifacts
    that the config leaves nothing to measure for.
    """
    empty = [target for target in targets or ["all"] if target in ("all", "highlights")]
    if empty and not plan.papers:
        problem = f"no paper is selected, so {empty[0]!r} has nothing to make"
        fix = "name papers, leave the key out for all of them, or request another target"
        raise DataError("config", "key papers", problem, fix)
    needs: dict[Need, list[str]] = {}
    chosen = requested(plan, targets)
    for paper, name in chosen:
        for need in plan.papers[paper].needs.get(name, ()):
            needs.setdefault(need, []).append(f"{paper}_{name}")
    facts = {name: item for name in plan.config.encoders if (item := _facts(plan, name))}
    mistakes = list(without_cells(plan, chosen))
    for name in sorted({need.encoder for need in needs if need.part == "head"} & facts.keys()):
        if plan.config.encoders[name].language_model_head and facts[name].family not in PRETRAINED:
            problem = f"no head is fitted on encoders of {facts[name].family}"
            fix = f"write null, or take an encoder of {' or '.join(PRETRAINED)}"
            place = f"key encoders.{name}.language_model_head"
            mistakes.append(DataError("config", place, problem, fix))
    for name, item in facts.items():
        if plan.config.encoders[name].base:
            continue  # its tokenizer is the other's
        if item.boundaries != has_sentencepiece(plan.config.encoders, name):
            problem = f"the tokenizer is{'' if item.boundaries else ' not'} SentencePiece's"
            place, value = f"key encoders.{name}.sentencepiece", str(item.boundaries).lower()
            mistakes.append(DataError("config", place, problem, f"write `sentencepiece: {value}`"))
    for need, artifacts in needs.items():
        if need.encoder in facts and (lack := need.unmet(facts[need.encoder])):
            problem, fix = lack
            fix += f", or make other artifacts than {', '.join(dict.fromkeys(artifacts))}"
            mistakes.append(DataError("config", f"key {need.place}", problem, fix))
    mistakes += _long_texts(plan, chosen, facts)
    read: dict[str, set[str]] = {}  # by encoder: the languages that its runs read
    named = {part for target in targets for part in target.split("/")}  # a run's files are targets
    runs = [*runs_of(plan, chosen), *(run for run in plan.runs if run.id in named)]
    for run in runs:
        if item := facts.get(run.base):
            mistakes += _misfits(plan, run, item)
            read.setdefault(run.base, set()).update(_languages(plan, run))
    for name in sorted(read):
        if not plan.allows_unknown(name):
            mistakes += _unknown_languages(plan, name, read[name], facts[name])
    if mistakes:
        raise joined(mistakes)


def runs_of(plan: Plan, chosen: Iterable[tuple[str, str]]) -> list[Run]:
    """Return the runs behind artifacts, with those that they start from."""
    parts = {part for file in files_behind(plan, chosen) for part in file.split("/")}
    runs = {run.id: run for run in plan.runs}
    behind = [runs[part] for part in sorted(parts & runs.keys())]
    for run in behind:
        if run.start in runs and runs[run.start] not in behind:
            behind.append(runs[run.start])
    return behind


def _misfits(plan: Plan, run: Run, facts: Facts) -> Iterator[DataError]:
    """Yield what a run does that its encoder can't."""
    if run.kind != "finetuning":
        yield from _too_long(plan, None, run.base, facts)
        return
    family: Any = plan.config.runs[run.family]
    if run.task in TEXT_TASKS and not FAMILIES[facts.family].pooler:
        problem = f"texts are classified through a pooler, and the encoder {run.base!r}"
        problem += f" ({facts.family}) has none"
        fix = "take another encoder, or make figures and tables without this family"
        yield DataError("config", f"key runs.{run.family}", problem, fix)
    yield from _too_long(plan, family.encoding, run.base, facts)


def _long_texts(
    plan: Plan, chosen: Iterable[tuple[str, str]], facts: Mapping[str, Facts]
) -> Iterator[DataError]:
    """Yield encodings of texts that are longer than the encoder whose states are read."""
    files = files_behind(plan, chosen)
    folders = {
        store.folder
        for name, features in plan.features.items()
        if any(f"/{name}/" in file for file in files)
        for store in features.stores.values()
    }
    uses = {(parts[2], parts[4]) for parts in (folder.split("/") for folder in folders)}
    for dataset, vectors in plan.vectors.items():
        read = [parts for parts in (file.split("/") for file in files) if dataset in parts]
        uses |= {(name, vectors.encoding) for parts in read for name in facts if name in parts}
    for encoder, encoding in sorted(uses):
        if encoder in facts:
            yield from _too_long(plan, encoding, encoder, facts[encoder])


def _too_long(plan: Plan, encoding: str | None, encoder: str, facts: Facts) -> Iterator[DataError]:
    """Yield an encoding, or without one the adjustment's pairs, that exceeds an encoder."""
    length, key = plan.config.alignment.maximum_length, "alignment.maximum_length"
    if encoding:
        length, key = plan.config.encodings[encoding].max_length, f"encodings.{encoding}.max_length"
    while changed := plan.config.encoders[encoder].changed:  # which has the other's positions
        encoder = changed.encoder
    if facts.positions is not None and length > facts.positions:
        problem = f"{length} subwords, and the encoder {encoder!r} takes {facts.positions}"
        yield DataError("config", f"key {key}", problem, f"write {facts.positions} or fewer")


def _languages(plan: Plan, run: Run) -> Iterator[str]:
    """Yield the languages that a run predicts or learns to tell apart."""
    yield from chain.from_iterable(run.specification.get("evaluate", {}).values())
    if texts := run.specification.get("language_data"):
        yield from plan.config.datasets[texts["dataset"]].languages


def _unknown_languages(
    plan: Plan, name: str, codes: Collection[str], facts: Facts
) -> Iterator[DataError]:
    """Yield the languages of which an encoder's vocabulary lacks the letters or most words."""
    languages = [language for language in plan.languages if language.code in codes]
    lacking = dict[str, str]()  # by code: name and script
    for language in languages:
        are_known = facts.scripts is not None and all(map(is_script, language.script.split()))
        if are_known and not (facts.scripts or set()) & set(language.script.split()):
            lacking[language.code] = f"{language.name} ({language.script})"
    problems = [f"its vocabulary has no letter of {', '.join(lacking.values())}"] if lacking else []
    folder = None if plan.config.miniature else _folder(plan, name)
    if folder and (folder / "tokenizer.json").is_file():
        others = [language.code for language in languages if language.code not in lacking]
        shares = unknown_names(others, folder)
        most = {code: share for code, share in shares.items() if share > MOST_UNKNOWN_NAMES}
        lacking |= {code: f"{plan.languages[code].name} ({most[code]:.0%})" for code in most}
        if most:
            names = ", ".join(lacking[code] for code in most)
            problem = f"many subwords of names of languages and countries are [UNK] in {names}"
            problems.append(problem)
    if problems:
        added = [code for code in sorted(lacking) if code in plan.config.add_languages]
        others = [code for code in sorted(lacking) if code not in added]
        fixes = [f"take {' '.join(added)} out of `add_languages`"] if added else []
        fixes += (
            [f"write in the config `remove_languages: [{', '.join(others)}]`"] if others else []
        )
        fix = f"take another encoder, {' and '.join(fixes)}, or write `allow_unknown: true` for it"
        yield DataError("config", f"key encoders.{name}", ", and ".join(problems), fix)


def _folder(plan: Plan, name: str) -> Path | None:
    """Return where the files of an encoder are; none: not here, or the workflow makes them."""
    item = plan.config.encoders[name]
    if item.changed or item.scratch or item.folder:
        return Path(item.folder) if item.folder else None
    places = [Path(base) for base in (plan.config.downloads, plan.config.mirror) if base]
    folders = (place / plan.snapshot(name) for place in places)
    return next((folder for folder in folders if folder.is_dir()), None)


def requested(plan: Plan, targets: Sequence[str]) -> list[tuple[str, str]]:
    """Return paper and artifact of all that targets name; those of other targets are not known."""
    chosen: list[tuple[str, str]] = []
    for target in targets or ["all"]:
        file = re.search(r"/(?:measurements|figures|tables)/(.+?)(?:\.\w+)+$", target)
        if file and (item := plan.artifact_of.get(file[1])):
            chosen.append((item[0], item[1].name))
        for paper, artifact in plan.shown(""):
            short = target in ("all", paper, f"{paper}_{artifact.name}")
            if short or (target == "highlights" and artifact.highlight):
                chosen.append((paper, artifact.name))
    return list(dict.fromkeys(chosen))


def _facts(plan: Plan, name: str) -> Facts | None:
    """Return what an encoder has; none: its files are not here yet."""
    item = plan.config.encoders[name]
    if item.changed:
        below = _facts(plan, item.changed.encoder)
        return below and replace(below, head=True, scripts=None)
    if item.scratch:
        kind = "Unigram" if has_sentencepiece(plan.config.encoders, name) else "WordPiece"
        layers = item.scratch.pretraining.layers
        positions = item.scratch.pretraining.positions
        facts = Facts(layers, head=True, pooler=False, tokenizer=kind, positions=positions)
        facts = replace(facts, boundaries=kind == "Unigram")
        if name in plan.shipped:
            scripts = facts_of(plan.home / str(item.scratch.shipped)).scripts
            facts = replace(facts, scripts=scripts)
        return facts
    if item.folder:
        return _with_head(facts_of(Path(item.folder)), item)
    if folder := _folder(plan, name):
        with suppress(DataError):  # the jobs report what is wrong with it
            return _with_head(facts_of(folder), item)
    return None


def _with_head(facts: Facts, encoder: Encoder) -> Facts:
    return replace(facts, head=facts.head or encoder.language_model_head == "fitted")

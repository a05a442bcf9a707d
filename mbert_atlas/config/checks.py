"""Checks that the parts of a config fit together, before any job.

Every check reports a :class:`mbert_atlas.config.mistakes.Mistake`; see
:func:`mbert_atlas.config.mistakes.gathering`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.mistakes import Mistake, check_name, going_on, report
from mbert_atlas.config.model import Config
from mbert_atlas.config.preparation import NAMED
from mbert_atlas.config.references import (
    check_circle,
    check_family_language,
    check_language,
    datasets_of,
    finetuning_families,
    running_texts,
)
from mbert_atlas.config.run_checks import check_runs
from mbert_atlas.config.tasks import TASKS
from mbert_atlas.config.transfer import TransferTable, TransferTest


def check_config(
    config: Config,
    codes: Collection[str] = (),
    rules: Collection[str] = (),
    written: Collection[str] = (),
) -> None:
    """Report undefined names, and languages that their dataset or family lacks.

    Args:
        config: valid key by key.
        codes: the language codes that a dataset may name; none: any.
        rules: the rules that take resources; none: any.
        written: the languages that synthetic data can have; none: any.
    """
    for code, other in config.languages_instead.items():
        check_name(f"languages_instead.{code}", other, codes or [other], " as a language")
    if config.miniature and config.comparable:
        problem = "numbers from generated data are not comparable with the papers'"
        report(Mistake("comparable", problem, "write `comparable: false`"))
    _check_keys_count("", config)
    _check_names(config)
    if config.miniature:
        own = config.miniature.languages
        for code in own:
            check_name("miniature.languages", code, written or [code], " in the miniature")
        for code in config.miniature.lending or ():
            check_name("miniature.lending", code, ["en", *own], " in miniature.languages")
    for name in config.datasets:
        with going_on():
            _check_dataset(config, name, codes)
    for name in config.encoders:
        with going_on():
            _check_encoder(config, name)
    for name, vectors in config.static_vectors.items():
        scratch = [encoder for encoder, item in config.encoders.items() if item.scratch]
        check_name(f"static_vectors.{name}.encoder", vectors.encoder, scratch, " from scratch")
        if name in config.encoders:
            report(Mistake(f"static_vectors.{name}", "an encoder has this name", "rename one"))
    check_runs(config)
    for bitext, gold in config.alignment.gold.items():
        check_name("alignment.gold", bitext, datasets_of(config, "bitext"), " as a bitext")
        golds = datasets_of(config, "gold_alignment")
        check_name(f"alignment.gold.{bitext}", gold, golds, " as gold_alignment")
    for rule in config.resources:
        check_name(f"resources.{rule}", rule, rules or [rule], " as a rule that takes resources")


def check_transfer_table(
    config: Config, place: str, table: TransferTable, contrasts: Collection[tuple[str, str]]
) -> None:
    """Report tests, conditions and languages of a table that have no runs behind them.

    Args:
        config: whose datasets and runs it needs.
        place: its key, with dots.
        table: the table of zero-shot transfer.
        contrasts: condition and baseline of each contrast that the paper's claims declare for it.
    """
    shown_anywhere, tested = set[str](), set[str]()
    for key, test in table.tests.items():
        at = f"{place}.tests.{key}"
        corpora = {task.corpus for task in TASKS.values() if task.transfer}
        scored = datasets_of(config, *corpora)
        if not check_name(f"{at}.dataset", test.dataset, scored, " with scores"):
            continue
        for code in test.languages or ():
            check_language(config, f"{at}.languages", code, test.dataset)
        for _, condition, family in table.families(test):
            where = f"{at if test.conditions else place}.conditions.{condition}"
            with going_on():
                _check_condition(config, where, table, test, family)
        shown = {condition for _, condition, _ in table.families(test)}
        shown_anywhere |= shown
        tested.update(config.datasets[test.dataset].languages if shown else ())
        for condition, baseline in table.against.items():
            if condition in shown:
                check_name(f"{place}.against.{condition}", baseline, shown, f" for the test {key}")
        if shown:
            check_name(f"{place}.gains_over", table.gains_over, shown, f" for the test {key}")
    for code in table.languages:
        check_name(f"{place}.languages", code, tested, " in any of its tests")
    for condition, baseline in table.against.items():
        if condition in shown_anywhere and (condition, baseline) not in contrasts:
            paper, *_, name = place.split(".")
            report(
                Mistake(
                    f"{place}.against.{condition}",
                    f"no contrast of {condition!r} with {baseline!r} is declared for {name}",
                    f"declare it in mbert_atlas/papers/{paper}/claims.py",
                )
            )


def _check_condition(
    config: Config, place: str, table: TransferTable, test: TransferTest, shown: str
) -> None:
    name, _, language = shown.partition("/")
    if not check_name(place, name, finetuning_families(config), " as fine-tuning"):
        return
    family = config.runs[name]
    assert family.kind == "finetuning"
    if language and not family.languages:
        raise Mistake(place, f"{name!r} has one run for all languages", f"write {name!r}")
    if not check_name(place, test.dataset, family.evaluate, f" in runs.{name}.evaluate"):
        return
    for code in test.languages or table.languages:
        if code in config.datasets[test.dataset].languages:
            own = language or code
            check_family_language(config, place, name, own)
            predicted = [item.replace("{language}", own) for item in family.evaluate[test.dataset]]
            check_name(place, code, predicted, f" in runs.{name}.evaluate.{test.dataset}")


def _check_keys_count(place: str, part: Any) -> None:
    """Report keys that have no effect, see :attr:`ConfigModel.only_with`."""
    if isinstance(part, ConfigModel):
        given = part.model_fields_set
        for key, (other, _) in part.only_with.items():
            value, default = getattr(part, key), type(part).model_fields[key].default
            if key in given and value not in (None, default) and not part.counts(key):
                own = getattr(part, other)
                shown = "null" if own is None else own
                problem = f"this has no effect with `{other}: {shown}`"
                report(Mistake(f"{place}.{key}".strip("."), problem, "leave it out"))
        part = {key: getattr(part, key) for key in type(part).model_fields}
    if isinstance(part, list):
        part = dict(enumerate(part))
    for key, item in part.items() if isinstance(part, Mapping) else ():
        _check_keys_count(f"{place}.{key}".strip("."), item)


def _check_names(config: Config) -> None:
    """Report names that cannot be file names."""
    for section in NAMED:
        for name in getattr(config, section):
            if not re.fullmatch(r"\w[\w.+-]*", name, re.ASCII):
                problem = f"{name!r} becomes a file name"
                fix = "use letters, digits, and . _ + - between them"
                report(Mistake(f"{section}.{name}", problem, fix))


def _check_dataset(config: Config, name: str, codes: Collection[str]) -> None:
    dataset, at = config.datasets[name], f"datasets.{name}"
    dataset.check(config, at)
    if dataset.parent:
        role = f" as {dataset.corpus}" if dataset.derives_from(dataset) else " as running text"
        parents = [key for key, item in config.datasets.items() if dataset.derives_from(item)]
        check_name(f"{at}.{dataset.parent_key}", dataset.parent, parents, role)
        check_circle(f"{at}.{dataset.parent_key}", name, lambda other: _parent(config, other))
    check_name(f"{at}.encoder", dataset.tokenizer_of, config.encoders)
    for code in dataset.files_by_language or ():
        check_name(f"{at}.files_by_language", code, codes or [code], " as a language")
    for code in dataset.languages:
        if not check_name(f"{at}.languages", code, codes or [code]):
            continue
        if dataset.parent:
            check_language(config, f"{at}.languages", code, dataset.parent)
            continue
        if config.miniature:
            languages = ["en", *config.miniature.languages]
            check_name(f"{at}.languages", code, languages, " in the miniature")
        if dataset.files is None and code not in (dataset.files_by_language or {}):
            mend = "name one in `files_by_language`, or leave out the language or the dataset"
            report(Mistake(f"{at}.languages", f"{code!r} has no file", mend, code))


def _parent(config: Config, name: str) -> str | None:
    return config.datasets[name].parent if name in config.datasets else None


def _check_encoder(config: Config, name: str) -> None:
    scratch, changed = config.encoders[name].scratch, config.encoders[name].changed
    at = f"encoders.{name}.{'scratch' if scratch else 'changed'}"
    source = scratch or changed
    for text in source.texts if source else []:
        check_name(f"{at}.texts", text, running_texts(config), " as running text")
        for code in changed.languages if changed else []:
            check_language(config, f"{at}.languages", code, text)
    if scratch:
        texts = [config.datasets[text] for text in scratch.texts if text in config.datasets]
        known = {code for text in texts for code in text.languages}
        for code in scratch.languages or ():
            check_name(f"{at}.languages", code, known, " in any of the texts")
    if scratch and scratch.tokenizer_of:
        base = config.encoders.get(scratch.tokenizer_of)
        other = base.scratch if base else None
        if scratch.tokenizer_of == name or (other and other.tokenizer_of):
            problem = f"{scratch.tokenizer_of!r} trains no tokenizer"
            report(Mistake(f"{at}.tokenizer_of", problem, "name the encoder that does"))
    if scratch and scratch.aligned_start:
        bitexts = datasets_of(config, "bitext")
        words = [bitext for bitext in bitexts if not config.datasets[bitext].parent]
        for bitext in scratch.aligned_start.bitexts:
            check_name(f"{at}.aligned_start.bitexts", bitext, words, " as a bitext of words")
    if needed := _needed(config, name):
        check_name(f"encoders.{name}.{needed[0]}", needed[1], config.encoders)
        check_circle(
            f"encoders.{name}.{needed[0]}",
            name,
            lambda other: (_needed(config, other) or ("", None))[1],
        )


def _needed(config: Config, name: str) -> tuple[str, str] | None:
    """Return the key and the name of the encoder that another depends on."""
    encoder = config.encoders.get(name)
    if encoder is None:
        return None
    if encoder.changed:
        return "changed.encoder", encoder.changed.encoder
    if encoder.scratch and encoder.scratch.tokenizer_of:
        return "scratch.tokenizer_of", encoder.scratch.tokenizer_of
    return None

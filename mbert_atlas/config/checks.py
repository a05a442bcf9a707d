"""Checks that the parts of a config fit together, before any job.

Every check reports a :class:`mbert_atlas.config.mistakes.Mistake`; see
:func:`mbert_atlas.config.mistakes.gathering`.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.mistakes import Mistake, check_name, going_on, report
from mbert_atlas.config.model import Config
from mbert_atlas.config.preparation import NAMED
from mbert_atlas.config.references import check_circle, check_language, datasets_of
from mbert_atlas.config.run_checks import check_runs


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
        problem = "numbers from synthetic data are not comparable with the papers'"
        report(Mistake("comparable", problem, "write `comparable: false`"))
    _check_effects("", config)
    _check_names(config)
    if config.miniature:
        languages = config.miniature.languages
        for code in languages:
            check_name("miniature.languages", code, written or [code], " in the miniature")
        for code in config.miniature.lending or ():
            check_name("miniature.lending", code, ["en", *languages], " in miniature.languages")
    for name in config.datasets:
        with going_on():
            _check_dataset(config, name, codes)
    for name, encoder in config.encoders.items():
        with going_on():
            encoder.check(config, name)
    for name, vectors in config.static_vectors.items():
        scratch = [key for key, item in config.encoders.items() if item.scratch]
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


def _check_effects(place: str, part: Any) -> None:
    """Report keys that have no effect, see :attr:`ConfigModel.only_with`."""
    if isinstance(part, ConfigModel):
        keys = part.model_fields_set
        for key, (other, _) in part.only_with.items():
            value, default = getattr(part, key), type(part).model_fields[key].default
            if key in keys and value not in (None, default) and not part.counts(key):
                setting = getattr(part, other)
                setting = "null" if setting is None else setting
                problem = f"this has no effect with `{other}: {setting}`"
                report(Mistake(f"{place}.{key}".strip("."), problem, "leave it out"))
        part = {key: getattr(part, key) for key in type(part).model_fields}
    if isinstance(part, list):
        part = dict(enumerate(part))
    for key, item in part.items() if isinstance(part, Mapping) else ():
        _check_effects(f"{place}.{key}".strip("."), item)


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
            fix = "name one in `files_by_language`, or leave out the language or the dataset"
            report(Mistake(f"{at}.languages", f"{code!r} has no file", fix, code))


def _parent(config: Config, name: str) -> str | None:
    return config.datasets[name].parent if name in config.datasets else None

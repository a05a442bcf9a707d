"""Whether the encoders of a config have what the requested artifacts need of them."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from mbert_atlas.config.encoders import Encoder, has_sentencepiece
from mbert_atlas.encoders.folders import facts_of
from mbert_atlas.errors import DataError, joined
from mbert_atlas.plan.needs import Facts, Need
from mbert_atlas.plan.plan import Plan


def check_needs(plan: Plan, targets: Sequence[str]) -> None:
    """Check the needs of the artifacts that targets stand for, as far as encoders are known.

    One on the hub is known once it is in the mirror or among the downloads. A DataError (several:
    DataErrors) names what an encoder lacks, the artifacts that need it, and the fix.
    """
    empty = [target for target in targets or ["all"] if target in ("all", "highlights")]
    if empty and not plan.papers:
        problem = f"no paper is selected, so {empty[0]!r} has nothing to make"
        fix = "name papers, leave the key out for all of them, or request another target"
        raise DataError("config", "key papers", problem, fix)
    needs: dict[Need, list[str]] = {}
    for paper, name in requested(plan, targets):
        for need in plan.papers[paper].needs.get(name, ()):
            needs.setdefault(need, []).append(f"{paper}_{name}")
    facts = {name: item for name in plan.config.encoders if (item := _facts(plan, name))}
    mistakes = []
    for name, item in facts.items():
        is_sentencepiece = item.tokenizer == "Unigram"
        if is_sentencepiece != has_sentencepiece(plan.config.encoders, name):
            problem = f"the tokenizer is{'' if is_sentencepiece else ' not'} SentencePiece's"
            place, value = f"key encoders.{name}.sentencepiece", str(is_sentencepiece).lower()
            mistakes.append(DataError("config", place, problem, f"write `sentencepiece: {value}`"))
    for need, artifacts in needs.items():
        if need.encoder in facts and (lack := need.unmet(facts[need.encoder])):
            problem, fix = lack
            fix += f", or make other artifacts than {', '.join(dict.fromkeys(artifacts))}"
            mistakes.append(DataError("config", f"key {need.place}", problem, fix))
    if mistakes:
        raise joined(mistakes)


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
        return below and replace(below, head=True)
    if item.scratch:
        kind = "Unigram" if has_sentencepiece(plan.config.encoders, name) else "WordPiece"
        return Facts(item.scratch.pretraining.layers, head=True, pooler=False, tokenizer=kind)
    if item.folder:
        return _with_head(facts_of(Path(item.folder)), item)
    for base in filter(None, (plan.config.downloads, plan.config.mirror)):
        if (folder := Path(base) / plan.snapshot(name)).is_dir():
            with suppress(DataError):  # the jobs report what is wrong with it
                return _with_head(facts_of(folder), item)
    return None


def _with_head(facts: Facts, encoder: Encoder) -> Facts:
    return replace(facts, head=facts.head or encoder.language_model_head == "fitted")

"""Training runs: families of the config, resolved for their languages, protocols and seeds.

A resolved run holds all that decides its result, and only that. Families (or protocols) that
resolve to the same content are one run, so papers share it.
"""

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from mbert_atlas.config.base import PROTOCOLS, Protocol
from mbert_atlas.config.encoders import has_sentencepiece
from mbert_atlas.config.finetuning import Finetuning
from mbert_atlas.config.merging import with_values
from mbert_atlas.config.methods import methods_in
from mbert_atlas.config.model import Config
from mbert_atlas.config.runs import AdjustmentRuns, FinetuningRuns
from mbert_atlas.config.search import Search
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.randomness import generator

Draw = dict[str, Any]
"""Value of each hyperparameter that a search sets, by its path with dots."""


@dataclass(frozen=True)
class Run:
    """One training run; everything but its seed."""

    id: str  # `family[-language][.protocol]`, with the protocol only where the two differ
    family: str  # in the config
    paper: str  # that the cost is attributed to
    kind: str  # `adjustment` or `finetuning`
    language: str | None  # target language
    base: str  # encoder that the chain of runs starts from (its tokenizer is used)
    start: str | None  # id of the run whose model this one starts from; none: the encoder itself
    seeds: tuple[int, ...]
    specification: dict[str, Any]  # all that decides the result, plain JSON values: a parameter

    @property
    def task(self) -> str:
        """The task of a fine-tuning."""
        return str(self.specification["encoding"]["task"])

    @property
    def code(self) -> tuple[str, ...]:
        """The registered code that a run depends on, as fingerprint roots: task, methods, loss."""
        adjustment = self.specification.get("replay", self.specification)["hyperparameters"]
        losses = [f"config.training:LOSSES[{adjustment['loss']}]"] if "loss" in adjustment else []
        if self.kind == "adjustment":
            return tuple(losses)
        methods = ",".join(methods_in(self.specification["hyperparameters"]))
        return f"tasks:TASKS[{self.task}]", f"training.methods:METHODS[{methods}]", *losses


class RunTable:
    """All runs of a config, by family, language and protocol, and by id."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._by_key = dict[tuple[str, str | None, Protocol], Run]()
        self._by_id, self._by_content = dict[str, Run](), dict[str, Run]()
        self.same = dict[str, str]()
        """By the id that a run would have: that of another with the same specification."""
        self.searches = dict[str, dict[str, Draw]]()
        """By name, ``family[-language]``: what each draw sets, by the id of its run."""
        for name, family in config.runs.items():
            for language in family.languages or (None,):
                for protocol in PROTOCOLS:
                    self.get(name, language, protocol)
                if family.kind == "finetuning" and family.search:
                    search = _name(name, language)
                    if draws := self._draw(search, name, language, family.search):
                        self.searches[search] = draws

    def drawn(self) -> set[str]:
        """Return the ids of the runs of all draws."""
        return {run for draws in self.searches.values() for run in draws}

    def _draw(
        self, name: str, family: str, language: str | None, search: Search
    ) -> dict[str, Draw]:
        """Add a run for each draw: the family's as published, with other values, on other data."""
        base, draws = self.get(family, language, "published"), dict[str, Draw]()
        published = self._config.runs[family].published
        common = {key: item for key, item in base.specification.items() if key != "search"}
        for number, values in enumerate(_combinations(name, search), 1):
            changed = Finetuning.model_validate(with_values(published.model_dump(), values))
            hyperparameters = changed.specification(common["encoding"]["task"])
            if labelled := base.specification["hyperparameters"].get("labelled_subword"):
                hyperparameters["labelled_subword"] = labelled
            specification = common | {
                "evaluate": self._evaluated(search.evaluate, language),
                "hyperparameters": hyperparameters,
            }
            seeds, run_id = (search.training_seed,), f"{name}-draw{number:02d}"
            run = replace(base, id=run_id, family=family, seeds=seeds, specification=specification)
            draws[run.id] = values
            if self._by_id.setdefault(run.id, run) is not run:
                problem = f"the search for {name!r} has a run of this name"
                raise DataError("config", f"key runs.{run.id}", problem, "rename the family")
        return draws

    def __iter__(self) -> Iterator[Run]:
        return iter(self._by_id.values())

    def __getitem__(self, run_id: str) -> Run:
        """Return the run of that id; if there is none, an AtlasError names those like it."""
        if run_id not in self._by_id:
            ids = sorted(self._by_id)
            like = [*get_close_matches(run_id, ids, 3), *(i for i in ids if i.startswith(run_id))]
            near = list(dict.fromkeys(like))[:5]
            fix = "`python -m mbert_atlas runs` lists them."
            fix = f"did you mean {' or '.join(near)}?" if near else fix
            raise AtlasError(f"There is no run {run_id!r}; {fix}")
        return self._by_id[run_id]

    def get(self, family: str, language: str | None, protocol: Protocol) -> Run:
        """Return the run of a family for a language (none if the family has no languages).

        Raises an AtlasError if the family lacks that language, or two runs would have one name.
        """
        spec = self._config.runs[family]
        language = language if spec.languages else None
        key = (family, language, protocol)
        if key in self._by_key:
            return self._by_key[key]
        if spec.languages and language not in spec.languages:
            problem = f"{language!r} is requested but not listed"
            fix = "add it there or drop it where it is used"
            raise DataError("config", f"key runs.{family}.languages", problem, fix)
        resolved = self._resolve(family, language, protocol)
        content = json.dumps([resolved.specification, resolved.seeds], sort_keys=True)
        run = self._by_content.setdefault(content, resolved)
        if run.id != resolved.id:
            self.same[resolved.id] = run.id
        if self._by_id.setdefault(run.id, run) is not run:
            other = f"runs.{self._by_id[run.id].family}"
            problem = f"its run {run.id!r} has the name of another run of {other}"
            fix = "rename one of the two families"
            raise DataError("config", f"key runs.{family}", problem, fix)
        self._by_key[key] = run
        return run

    def _resolve(self, family: str, language: str | None, protocol: Protocol) -> Run:
        spec = self._config.runs[family]
        is_original = spec.encoder in self._config.encoders
        starts = {
            each: None if is_original else self.get(spec.encoder, language, each)
            for each in PROTOCOLS
        }
        start = starts[protocol]
        name, base = _name(family, language), start.base if start else spec.encoder
        labelled = self._labelled_subwords(spec, base)
        specification: dict[str, Any] = {"kind": spec.kind, "encoder": spec.encoder}
        if start:
            specification["start"] = start.id
        if isinstance(spec, AdjustmentRuns):
            corrected = spec.corrected if protocol == "corrected" else None
            specification |= {"bitext": spec.bitext, "language": language}
            if spec.pairs != "aligned":
                specification["pairs"] = spec.pairs
            if spec.aligner not in (None, self._config.alignment.aligner):
                specification["aligner"] = spec.aligner
            specification["hyperparameters"] = (corrected or spec.published).relevant()
        else:
            specification |= self._finetuning(spec, language, protocol, start)
            if labelled.get(protocol) == "with_characters":
                specification["hyperparameters"]["labelled_subword"] = "with_characters"
            if spec.search and spec.search.use == "chosen":
                chosen_by = protocol if spec.corrected else "published"
                specification["search"] = f"{name}.{chosen_by}"
        differs = (
            spec.corrected not in (None, spec.published)
            or len(set(labelled.values())) > 1
            or starts["published"] != starts["corrected"]
        )
        return Run(
            id=f"{name}.{protocol}" if differs else name,
            family=family,
            paper=spec.paper,
            kind=spec.kind,
            language=language,
            base=base,
            start=start.id if start else None,
            seeds=tuple(spec.seeds or (start.seeds if start else self._config.seeds)),
            specification=specification,
        )

    def _finetuning(
        self, spec: FinetuningRuns, language: str | None, protocol: Protocol, start: Run | None
    ) -> dict[str, Any]:
        """Return what of a specification only fine-tuning has."""
        options = (spec.corrected if protocol == "corrected" else None) or spec.published
        encoding = self._config.encodings[spec.encoding]
        specification: dict[str, Any] = {
            "encoding": encoding.relevant(),
            "train": spec.train,
            "evaluate": self._evaluated(spec.evaluate, language),
            "hyperparameters": options.specification(encoding.task),
        }
        if spec.train_languages:
            specification["train_languages"] = filled(spec.train_languages, language)
        for method in options.methods.values():
            specification |= method.specification(start.specification if start else None)
            if method.language_data and (data := spec.language_data):
                encoding = self._config.encodings[data.encoding]
                specification["language_data"] = data.model_dump()
                specification["language_encoding"] = encoding.relevant()
        return specification

    def _labelled_subwords(
        self, spec: AdjustmentRuns | FinetuningRuns, encoder: str
    ) -> dict[Protocol, str]:
        """Return by protocol which subwords of words are labelled, if SentencePiece made them."""
        if (
            isinstance(spec, AdjustmentRuns)
            or self._config.encodings[spec.encoding].scored not in ("token", "tree")
            or not has_sentencepiece(self._config.encoders, encoder)
        ):
            return {}
        published = spec.published.labelled_subword or "with_characters"
        return {"published": published, "corrected": "with_characters"}

    def _evaluated(
        self, evaluate: Mapping[str, list[str]], language: str | None
    ) -> dict[str, list[str]]:
        """Return the languages of each test set that it has, ``{language}`` filled in."""
        tested = dict[str, list[str]]()
        for name, languages in evaluate.items():
            codes = self._config.datasets[name].languages
            if both := [code for code in filled(languages, language) if code in codes]:
                tested[name] = both
        return tested


def _name(family: str, language: str | None) -> str:
    return f"{family}-{language}" if language else family


def filled(languages: list[str], language: str | None) -> list[str]:
    """Return languages with that of a run in place of ``{language}``."""
    return [item.replace("{language}", language or "") for item in languages]


def _combinations(name: str, search: Search) -> list[Draw]:
    """Return what draws set: every combination, or a sample, another one for each ``name``."""
    space = itertools.product(*search.space.values())
    combinations = [dict(zip(search.space, values, strict=True)) for values in space]
    if search.draws is None:
        return combinations
    if (held := len(combinations)) < search.draws:
        problem = f"{search.draws} different draws are requested, but the space holds {held}"
        where, fix = f"key runs.{name}.search.draws", "request fewer or widen it"
        raise DataError("config", where, problem, fix)
    chosen = generator(search.seed, "search", name).permutation(held)
    return [combinations[number] for number in chosen[: search.draws]]

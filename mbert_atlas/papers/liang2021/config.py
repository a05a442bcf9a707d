"""The paper's section of the config, and whether it fits the rest."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from mbert_atlas.config.base import ConfigModel, Protocol
from mbert_atlas.config.checks import check_language, datasets_of, finetuning_families
from mbert_atlas.config.mistakes import Mistake, check_name

Model = Literal["mbert", "xlmr"]
TaskName = Literal["pos", "ner"]
Probe = Literal["identification", "typology", "similarity"]
Method = Literal["densray", "lda"]
Source = Literal["en", "en+de+zh"]


class Tokens(ConfigModel):
    """Whose tokens, and how many."""

    texts: dict[Model, str] = Field(description="Running texts of each encoder's languages.")
    encoding: str = Field(description="How they become token ids.")
    summed: int = Field(10000, ge=2, description="Tokens of a language behind the directions.")
    probed: int = Field(10000, ge=2, description="Other tokens of a language, to probe.")
    languages_per_job: int = Field(8, ge=1, description="Languages that one job encodes.")


class Probing(ConfigModel):
    """Probes of windows of the projected space (Figures 1 to 3 and 5)."""

    sizes: list[int] = Field(min_length=1, description="x of Figure 1.")
    width: int = Field(10, ge=1, description="Dimensions of a window of Figure 2.")
    by_layer: dict[Probe, int] = Field(description="x of Figure 3.")
    tokens: int = Field(5000, ge=10, description="Tokens per language, to identify languages.")
    typology_tokens: int = Field(1000, ge=10, description="Tokens per language, for typology.")
    pairs: dict[Protocol, int | None] = Field(
        description="Pairs of languages, drawn by the seed; none: all."
    )
    turns: int = Field(3, ge=1, description="corrected: random subspaces of each size.")
    seeds: int | None = Field(None, ge=1, description="Most seeds; none: all.")


class Pairs(ConfigModel):
    """Figure 5: languages of one family against others."""

    sets: dict[str, list[str] | None] = Field(
        description="Sets of languages by name; null leaves one out."
    )
    width: int = Field(2, ge=1, description="Dimensions of a window.")
    stop: int = Field(100, ge=1, description="Last dimension.")


class Removal(ConfigModel):
    """Figure 4: classifiers that do not see the first directions."""

    datasets: dict[TaskName, tuple[str, str]] = Field(
        description="Words to train on and to predict, frozen."
    )
    firsts: list[int] = Field(description="How many directions go, frozen; 0 first.")
    tuned: dict[TaskName, dict[Method, list[int]]] = Field(
        description="How many go while the encoder is trained, by families <baseline>-<method>-<n>."
    )
    maximum_vectors: int = Field(50000, ge=10, description="Most words to train on, frozen.")


class Transfer(ConfigModel):
    """What holds languages apart, and what it is compared with (Tables 1 to 6)."""

    runs: dict[TaskName, dict[Source, str | None]] = Field(
        description="Families of the baselines by language of training; -l-dar and "
        "-l-dar-<layers> after it are those of the regulariser; null leaves one out."
    )
    datasets: dict[TaskName, str] = Field(description="Test sets.")
    layers: dict[TaskName, dict[Source, list[str]]] = Field(
        description="Sets of layers of Table 6."
    )


class Section(ConfigModel):
    """What the artifacts of the paper need."""

    encoders: dict[Model, str] = Field(description="The encoders, as the paper names them.")
    layers: int = Field(12, ge=1, description="Layers of these encoders.")
    tokens: Tokens = Field(description="Token vectors behind Figures 1 to 5.")
    typology: str = Field(description="Typological features.")
    probing: Probing = Field(description="Figures 1 to 3.")
    pairs: Pairs = Field(description="Figure 5.")
    removal: Removal = Field(description="Figure 4.")
    transfer: Transfer = Field(description="Tables 1 to 6.")


def check(config: Any) -> None:
    """Refuse what the artifacts need and the rest of the config lacks.

    Raises:
        Mistake: at the first.
    """
    paper: Section = config.liang2021
    at = "liang2021"
    check_name(f"{at}.encoders", "mbert", paper.encoders, " there, and Figure 5 is of it")
    for model, name in paper.encoders.items():
        check_name(f"{at}.encoders.{model}", name, config.encoders)
        texts = datasets_of(config, "language_identification")
        check_name(f"{at}.tokens.texts", model, paper.tokens.texts, " there")
        check_name(f"{at}.tokens.texts.{model}", paper.tokens.texts[model], texts, " as texts")
    known = [name for name, item in config.encodings.items() if item.task == "text"]
    check_name(f"{at}.tokens.encoding", paper.tokens.encoding, known, " for texts")
    check_name(f"{at}.typology", paper.typology, datasets_of(config, "typology"), " as typology")
    for name, languages in paper.pairs.sets.items():
        for code in languages or ():
            check_language(config, f"{at}.pairs.sets.{name}", code, paper.tokens.texts["mbert"])
    for probe in ("identification", "typology", "similarity"):
        check_name(f"{at}.probing.by_layer", probe, paper.probing.by_layer, " there")
    for task, names in paper.removal.datasets.items():
        for name in names:
            check_name(f"{at}.removal.datasets.{task}", name, config.datasets)
        _check_baseline(paper, f"{at}.removal.datasets.{task}", task)
    for task, ways in paper.removal.tuned.items():
        if any(ways.values()):
            _check_baseline(paper, f"{at}.removal.tuned.{task}", task)
    if paper.removal.firsts[:1] != [0]:
        mend = "begin with 0, whose score the others are compared with"
        raise Mistake(f"{at}.removal.firsts", f"{paper.removal.firsts} lacks the whole space", mend)
    for task, families in paper.transfer.runs.items():
        for source, family in families.items():
            if family is None:
                continue
            place = f"{at}.transfer.runs.{task}.{source}"
            layers = paper.transfer.layers.get(task, {}).get(source, [])
            wanted = families_of(family, layers)
            if source == "en":
                tuned = paper.removal.tuned.get(task, {}).items()
                wanted += [f"{family}-{way}-{first}" for way, firsts in tuned for first in firsts]
            for name in wanted:
                check_name(place, name, finetuning_families(config), " as fine-tuning")
            if check_name(f"{at}.transfer.datasets", task, paper.transfer.datasets, " there"):
                own = paper.transfer.datasets[task]
                check_name(place, own, config.runs[family].evaluate, f" in runs.{family}.evaluate")


def _check_baseline(paper: Section, place: str, task: TaskName) -> None:
    """Refuse the part of Figure 4 of a task without the baseline that it goes with."""
    if paper.transfer.runs.get(task, {}).get("en") is None:
        missing = f"needs liang2021.transfer.runs.{task}.en, which is left out"
        raise Mistake(place, missing, "leave this out, too, by null")


def families_of(baseline: str, layers: list[str]) -> list[str]:
    """Return a baseline's family and those of the regulariser, on all layers and on some."""
    return [baseline, f"{baseline}-l-dar", *(f"{baseline}-l-dar-{some}" for some in layers)]

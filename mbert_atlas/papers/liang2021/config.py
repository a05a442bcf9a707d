"""The paper's section of the config, and its checks against the rest."""

from typing import Any, Literal

from pydantic import Field

from mbert_atlas.config.base import ConfigModel, Protocol
from mbert_atlas.config.mistakes import Mistake, check_name
from mbert_atlas.config.references import check_language, datasets_of, finetuning_families

Model = Literal["mbert", "xlmr"]
TaskName = Literal["pos", "ner"]
Probe = Literal["identification", "typology", "similarity"]
Method = Literal["densray", "lda"]
Source = Literal["en", "en+de+zh"]


class Tokens(ConfigModel):
    """The tokens behind directions and probes."""

    texts: dict[Model, str] = Field(description="Running texts of the languages of each encoder.")
    encoding: str = Field(description="Encoding of these texts.")
    summed: int = Field(10000, ge=2, description="Tokens per language behind the directions.")
    probed: int = Field(10000, ge=2, description="Other tokens per language, for the probes.")
    languages_per_job: int = Field(8, ge=1, description="Languages per job.")


class Probing(ConfigModel):
    """Probes of windows of the projected space (Figures 1 to 3 and 5)."""

    sizes: list[int] = Field(description="x of Figure 1.")
    width: int = Field(10, ge=1, description="Dimensions of a window of Figure 2.")
    by_layer: dict[Probe, int] = Field(description="x of Figure 3.")
    tokens: int = Field(5000, ge=10, description="Tokens per language, for identification.")
    typology_tokens: int = Field(1000, ge=10, description="Tokens per language, for typology.")
    pairs: dict[Protocol, int | None]
    """Number of sampled pairs of languages; none: all."""
    turns: int = Field(3, ge=1, description="corrected: random rotations of the space.")
    seeds: int | None = Field(None, ge=1, description="Number of seeds; none: all.")


class Pairs(ConfigModel):
    """Figure 5: language identification within sets of languages."""

    sets: dict[str, list[str] | None]
    """Sets of languages by name; null drops one."""
    width: int = Field(2, ge=1, description="Dimensions of a window.")
    stop: int = Field(100, ge=1, description="Last dimension.")


class Removal(ConfigModel):
    """Figure 4: POS and NER without the first directions."""

    datasets: dict[TaskName, tuple[str, str]]
    """Frozen: training and test words."""
    firsts: list[int] = Field(description="Frozen: numbers of removed directions; 0 first.")
    tuned: dict[TaskName, dict[Method, list[int]]]
    """Fine-tuned: numbers, as in the families <baseline>-<method>-<number>."""
    maximum_vectors: int = Field(50000, ge=10, description="Frozen: most training words.")


class Transfer(ConfigModel):
    """Transfer with L-DAR and its baselines (Tables 1 to 6)."""

    runs: dict[TaskName, dict[Source, str | None]]
    """Families of the baselines by training language; those of L-DAR add -l-dar or -l-dar-<layers>;
    null drops one."""
    datasets: dict[TaskName, str] = Field(description="Test sets.")
    layers: dict[TaskName, dict[Source, list[str]]]
    """Sets of layers of Table 6."""


class Section(ConfigModel):
    """What the artifacts of the paper need."""

    encoders: dict[Model, str] = Field(description="The encoders by the names of the paper.")
    layers: int = Field(12, ge=1, description="Layers of these encoders.")
    tokens: Tokens = Field(description="Token vectors behind Figures 1 to 5.")
    typology: str = Field(description="Typological features.")
    probing: Probing = Field(description="Figures 1 to 3.")
    pairs: Pairs = Field(description="Figure 5.")
    removal: Removal = Field(description="Figure 4.")
    transfer: Transfer = Field(description="Tables 1 to 6.")


def check(config: Any) -> None:
    """Check that the rest of the config has what the artifacts need.

    Raises:
        Mistake: the first one.
    """
    paper: Section = config.liang2021
    at = "liang2021"
    check_name(f"{at}.encoders", "mbert", paper.encoders, " there; Figure 5 is about it")
    for model, name in paper.encoders.items():
        check_name(f"{at}.encoders.{model}", name, config.encoders)
        texts = datasets_of(config, "language_identification")
        check_name(f"{at}.tokens.texts", model, paper.tokens.texts, " there")
        check_name(f"{at}.tokens.texts.{model}", paper.tokens.texts[model], texts, " as texts")
    encodings = [name for name, item in config.encodings.items() if item.task == "text"]
    check_name(f"{at}.tokens.encoding", paper.tokens.encoding, encodings, " for texts")
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
    for task, methods in paper.removal.tuned.items():
        if any(methods.values()):
            _check_baseline(paper, f"{at}.removal.tuned.{task}", task)
    if paper.removal.firsts[:1] != [0]:
        fix = "begin with 0, whose score the others are compared with"
        raise Mistake(f"{at}.removal.firsts", f"{paper.removal.firsts} lacks the whole space", fix)
    for task, families in paper.transfer.runs.items():
        for source, family in families.items():
            if family is None:
                continue
            place = f"{at}.transfer.runs.{task}.{source}"
            layers = paper.transfer.layers.get(task, {}).get(source, [])
            needed = families_of(family, layers)
            if source == "en":
                tuned = paper.removal.tuned.get(task, {}).items()
                needed += [f"{family}-{method}-{n}" for method, firsts in tuned for n in firsts]
            for name in needed:
                check_name(place, name, finetuning_families(config), " as fine-tuning")
            if check_name(f"{at}.transfer.datasets", task, paper.transfer.datasets, " there"):
                test = paper.transfer.datasets[task]
                check_name(place, test, config.runs[family].evaluate, f" in runs.{family}.evaluate")


def _check_baseline(paper: Section, place: str, task: TaskName) -> None:
    """Check that a task of Figure 4 has a baseline."""
    if paper.transfer.runs.get(task, {}).get("en") is None:
        missing = f"needs liang2021.transfer.runs.{task}.en, which is null"
        raise Mistake(place, missing, "set this to null, too")


def families_of(baseline: str, layers: list[str]) -> list[str]:
    """Return the families of a baseline and of L-DAR on all layers and on sets of layers."""
    return [baseline, f"{baseline}-l-dar", *(f"{baseline}-l-dar-{some}" for some in layers)]

"""The paper's section of the config, its checks, and what it needs of encoders."""

from itertools import product
from typing import Annotated, Any, Literal

from pydantic import Field

from mbert_atlas.config import references as ref
from mbert_atlas.config.base import ConfigModel, Protocol
from mbert_atlas.config.marks import TargetLanguages, Targets
from mbert_atlas.config.mistakes import Mistake, check_name, report
from mbert_atlas.plan.needs import Need, deepest_layer

TaskName = Literal["parsing", "pos", "ner"]
_TASKS = {"parsing": "parsing", "pos": "tagging", "ner": "ner"}
"""Tasks of encodings by the names of the paper."""
REFERENCE, DIFFERENCE, SCORE = "ref", "random_init_delta", "random_init"
"""Conditions as the reported numbers name them: the encoder without changes; what re-initialised
layers change, and the score with them."""
MAJORITY = "majority"
"""Condition of the score of the most frequent label, the floor of a reference."""
PRETRAINED, FINE_TUNED = "pretrained", "fine_tuned"
CKA, CORRELATION = "cka_percent", "spearman_cross_lingual_gap_vs_similarity"
Target = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+/[a-z-]+$")]
_WITH_CHANGES = ("figure2", "figure6", "figure7", "figure8")
"""Figures of encoders with re-initialised layers."""
BY_TARGET = ("table6", "table7", "table8")
"""Tables behind the means of Table 1."""


class LayerTest(ConfigModel):
    """The runs and targets of one task of a table."""

    runs: str
    """Family without re-initialised layers; with a hyphen and a set of layers after it the family
    that re-initialises those."""
    targets: Annotated[dict[str, Target | None], Targets()]
    """dataset/language by target as the reported numbers name it; null removes one."""

    def places(self) -> dict[str, tuple[str, str]]:
        """Return dataset and language of each target."""
        pairs = {name: place.split("/") for name, place in self.targets.items() if place}
        return {name: (dataset, language) for name, (dataset, language) in pairs.items()}


class LayerTable(ConfigModel):
    """A table of scores, or of their changes, by re-initialised layers."""

    sources: list[str] = Field(["en"], description="Training languages.")
    layers: list[str] = Field(description="Sets of layers, the lowest first.")
    control: list[str] = Field([], min_length=0)
    """Further sets, all layers for example, that Table 1's halves leave out: gates and controls of
    the claims."""
    shown: Literal["difference", "score"] = Field("difference")
    """The score, or its difference to that of the reference."""
    tests: dict[TaskName, LayerTest] = Field(description="Tasks.")

    @property
    def sets(self) -> list[str]:
        """All sets of layers that are re-initialised."""
        return [*self.layers, *self.control]


class Similarity(ConfigModel):
    """Similarity of parallel sentences in two languages by layer (CKA)."""

    source: str = Field("en", description="Language with which all others are compared.")
    languages: TargetLanguages = Field(description="The others, of Figures 3 to 8.")
    dataset: ref.DatasetName = Field(description="Parallel treebanks.")
    encodings: dict[Protocol, ref.TextEncoding] = Field(description="Encodings of their texts.")
    runs: dict[TaskName, str] = Field(min_length=1)
    """Families whose encoders are compared."""
    layers: list[str] = Field(description="Re-initialised layers of Figures 2 and 6 to 8.")
    seeds: int | None = Field(None, ge=1)
    """Maximum number of seeds of encoders with such layers; none: all."""
    figure1: str = Field("ru", description="Target language of Figures 1 and 2.")
    figure5: TargetLanguages = Field(description="Target languages of Figure 5.")


class Section(ConfigModel):
    """Inputs of the paper's artifacts."""

    model: ref.EncoderName = Field("mbert", description="The encoder of all its runs.")
    tables: dict[Literal["table2", "table5", "table6", "table7", "table8"], LayerTable]
    """Tables 2 and 5 to 8; Table 1 has the means of the last three."""
    similarity: Similarity = Field(description="Figures 1 to 8 and Table 4.")


def check(config: Any) -> None:
    """Report what the artifacts need and the rest of the config lacks."""
    for name, table in config.muller2021.tables.items():
        for task, test in table.tests.items():
            at = f"muller2021.tables.{name}"
            _check_layers(config, at, f"tests.{task}.runs", test.runs, table.sets)
            _check_test(config, f"{at}.tests.{task}", table, test, _TASKS[task])
    similarity, at = config.muller2021.similarity, "muller2021.similarity"
    ref.check_languages(config, f"{at}.source", [similarity.source], similarity.dataset)
    ref.check_languages(config, f"{at}.languages", similarity.languages, similarity.dataset)
    for key, codes in (("figure1", [similarity.figure1]), ("figure5", similarity.figure5)):
        for code in codes:
            check_name(f"{at}.{key}", code, similarity.languages, f" in {at}.languages")
    for key, table in config.muller2021.tables.items():
        is_compared = key in BY_TARGET and similarity.runs.keys() & table.tests.keys()
        if is_compared and similarity.source not in table.sources:
            problem = f"{similarity.source!r} is no training language of {key}, whose gaps are "
            problem += "compared with similarities"
            report(Mistake(f"{at}.source", problem, f"name one of {', '.join(table.sources)}"))
    for task, runs in similarity.runs.items():
        _check_layers(config, at, f"runs.{task}", runs, similarity.layers)
        for family in [runs, *(f"{runs}-{layers}" for layers in similarity.layers)]:
            ref.check_family_languages(config, f"{at}.source", family, [similarity.source])


def _check_layers(config: Any, at: str, key: str, runs: str, sets: list[str]) -> None:
    """Report a family that is not defined, or sets of layers that none of its variants has."""
    if ref.FINETUNING.check(config, f"{at}.{key}", runs):
        for some in (some for some in sets if f"{runs}-{some}" not in config.runs):
            problem = f"{some!r} has no family {runs}-{some}"
            fix = f"add it to the variants of runs.{runs}-*, or name other layers"
            report(Mistake(f"{at}.layers", problem, fix, some))


def _check_test(config: Any, place: str, table: LayerTable, test: LayerTest, task: str) -> None:
    for family in [test.runs, *(f"{test.runs}-{layers}" for layers in table.sets)]:
        if family not in config.runs:
            continue
        ref.check_task(config, f"runs.{family}.encoding", config.runs[family].encoding, task)
        if config.runs[family].encoder != config.muller2021.model:
            problem = f"{config.runs[family].encoder!r} is not muller2021.model, with which it is "
            problem += "compared"
            report(Mistake(f"runs.{family}.encoder", problem, "use the same encoder"))
        ref.check_family_languages(config, f"{place}.sources", family, table.sources)
        for name, (dataset, language) in test.places().items():
            if ref.check_predicted(config, f"{place}.targets.{name}", family, dataset):
                codes = config.runs[family].evaluate[dataset]
                role = f" in runs.{test.runs}.evaluate.{dataset}"
                check_name(f"{place}.targets.{name}", language, codes, role)


def needs_of(config: Any) -> dict[str, list[Need]]:
    """Return the needs by artifact: the layers that are re-initialised."""
    paper: Section = config.muller2021

    def layers(key: str, runs: list[str], sets: list[str]) -> list[Need]:
        """Return a need for the layers that sets name, and for each family that has deeper ones."""
        places = {f"muller2021.{key}.layers": 0}
        for family, some in [*((name, "") for name in runs), *product(runs, sets)]:
            name = "-".join(filter(None, [family, some]))
            last, named = deepest_layer(config, [name]), some.rpartition("-")[2]
            is_named = named.isdigit() and int(named) >= last
            place = f"muller2021.{key}.layers" if is_named else f"runs.{name}.published"
            places[place] = max(places.get(place, 0), last)
        return [Need(paper.model, "layer", place, last) for place, last in places.items() if last]

    needs: dict[str, list[Need]] = {
        name: layers(f"tables.{name}", [test.runs for test in table.tests.values()], table.sets)
        for name, table in paper.tables.items()
    }
    similarity = paper.similarity
    changed = layers("similarity", [*similarity.runs.values()], similarity.layers)
    means = [need for name in BY_TARGET for need in needs.get(name, [])]
    return needs | {"table1": means} | dict.fromkeys(_WITH_CHANGES, changed)

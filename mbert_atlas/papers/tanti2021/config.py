"""The paper's section of the config, its checks, and what it needs of encoders."""

from typing import Any, Literal

from pydantic import Field

from mbert_atlas.config import references as ref
from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.mistakes import Mistake, check_name, report
from mbert_atlas.config.probing import Probe
from mbert_atlas.config.tasks import EncodedDataset
from mbert_atlas.plan.needs import Need

_MOST_LABELS = 17  # universal POS tags
Condition = Literal["initial", "fine_tuned", "gradient_reversal", "entropy_maximisation"]
FINE_TUNING: tuple[Condition, ...] = ("initial", "fine_tuned")
UNLEARNING: tuple[Condition, ...] = ("gradient_reversal", "entropy_maximisation")
"""Conditions that are compared, as the maps of one figure."""
_OF_TEXTS = ("table1", "table2", "table3", "figure4", "figure6", "appendixB")
"""Artifacts with vectors of XNLI's texts."""


class LanguageTask(ConfigModel):
    """A target task, and how the language-specificity of its encoders is measured."""

    test: ref.DatasetName
    """Test set of the task, whose languages are also identified."""
    wikipedia: EncodedDataset
    """Texts that language identification is trained and tested on."""
    pooling: Literal["pooler", "mean", "cls"] = "pooler"
    """Pooling of a text to one vector; tokens are not pooled."""
    points: int = Field(ge=1, description="Points per language and label in samples (App. B).")
    conditions: dict[Condition, ref.FinetuningName]
    """Family of fine-tuning runs by condition."""


class Section(ConfigModel):
    """What the artifacts of the paper need."""

    model: ref.EncoderName = Field("mbert", description="The encoder of all its runs.")
    tasks: dict[Literal["udpos", "xnli"], LanguageTask] = Field(min_length=1)
    """Target tasks with their experiments."""
    points_per_language: int = Field(100, ge=2)
    """Wikipedia texts of each language in samples (App. B)."""
    language_clusters: int = Field(33, ge=2)
    """Clusters of the V-measure of languages as published."""
    perplexity: float = Field(30.0, gt=0, description="Perplexity of the t-SNE.")
    probe: Probe
    """Language identification under `corrected`; `published` takes Adam with the hyperparameters of
    the run (appendix D)."""


def check(config: Any) -> None:
    """Report what the artifacts need and the rest of the config lacks."""
    paper: Section = config.tanti2021
    _check_points(config, paper)
    for name, task in paper.tasks.items():
        at = f"tanti2021.tasks.{name}"
        place = f"{at}.wikipedia.encoding"
        ref.check_task(config, place, task.wikipedia.encoding, "language_identification")
        for condition in FINE_TUNING:
            check_name(f"{at}.conditions", condition, task.conditions, " there")
        for condition, family in task.conditions.items():
            _check_condition(config, f"{at}.conditions.{condition}", condition, family)
            if config.runs[family].encoder != paper.model:
                problem = f"{config.runs[family].encoder!r} is not tanti2021.model"
                report(Mistake(f"runs.{family}.encoder", problem, "use the same encoder"))
            if ref.check_predicted(config, f"{at}.conditions.{condition}", family, task.test):
                _check_comparable(config, task, family)
        for compared in (FINE_TUNING, UNLEARNING):
            _check_seeds(config, [task.conditions[it] for it in compared if it in task.conditions])


def _check_points(config: Any, paper: Section) -> None:
    """Report a t-SNE or clusters for which a sample has too few points."""
    for task in paper.tasks.values():
        names = task.wikipedia.dataset, task.test
        if not config.datasets.keys() >= {*names}:
            continue
        texts, tests = (len(config.datasets[name].languages) for name in names)
        of_texts = texts * paper.points_per_language
        most = of_texts + tests * task.points * _MOST_LABELS
        for key, value, points in (
            ("perplexity", 3 * paper.perplexity + 1, most),  # as t-SNE needs
            ("language_clusters", paper.language_clusters, of_texts),
        ):
            if value > points:
                problem = f"{getattr(paper, key)} is too large for a sample of at most {points} "
                report(Mistake(f"tanti2021.{key}", f"{problem}points", "take a smaller one"))
                return


def _check_comparable(config: Any, task: LanguageTask, family: str) -> None:
    """Report a condition without the languages of the task's first one, or without a search."""
    first = next(iter(task.conditions.values()))
    runs, others = config.runs[family], config.runs[first]
    if {*runs.evaluate[task.test]} != {*others.evaluate[task.test]}:
        problem = f"the languages are not those of runs.{first}, which is shown next to it"
        place = f"runs.{family}.evaluate.{task.test}"
        report(Mistake(place, problem, "name the same languages in both"))
    if runs.search is None:
        problem = "there is no `search`, whose development sets appendix A counts"
        report(Mistake(f"runs.{family}", problem, "add one; with `draws: 0` nothing is searched"))


def _check_seeds(config: Any, families: list[str]) -> None:
    """Report families whose models no seed has in common, so that a figure could not show both."""
    seeds = {name: config.runs[name].seeds or config.seeds for name in families}
    if seeds and not set.intersection(*map(set, seeds.values())):
        changed = next(name for name in families if config.runs[name].seeds)
        listed = " and ".join(f"runs.{name} {numbers}" for name, numbers in seeds.items())
        problem = f"{listed} share no seed, and a figure shows them next to each other"
        report(Mistake(f"runs.{changed}.seeds", problem, "give them a seed that both have"))


def _check_condition(config: Any, place: str, condition: Condition, family: str) -> None:
    hyperparameters = config.runs[family].published
    method = hyperparameters.confusion.method if hyperparameters.confusion else None
    expected = None if condition in FINE_TUNING else condition
    is_frozen = hyperparameters.trained_layers == "none"
    if method != expected or is_frozen != (condition == "initial"):
        problem = f"runs.{family}.published does not match the condition: `trained_layers: none` "
        problem += f"is only for initial, and `confusion.method` is {method!r}, not {expected!r}"
        report(Mistake(place, problem, "name another family or change this one"))


def needs_of(config: Any) -> dict[str, list[Need]]:
    """Return the needs by artifact."""
    paper: Section = config.tanti2021
    task = paper.tasks.get("xnli")
    if task is None or task.pooling != "pooler":
        return {}
    need = Need(paper.model, "pooler", "tanti2021.tasks.xnli.pooling")
    return {name: [need] for name in _OF_TEXTS}

"""The paper's section of the config, and its checks against the rest."""

from typing import Any, Literal

from pydantic import Field

from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.encodings import EncodedDataset
from mbert_atlas.config.mistakes import Mistake, check_name
from mbert_atlas.config.probing import Probe
from mbert_atlas.config.references import check_language_data, finetuning_families

Condition = Literal["initial", "fine_tuned", "gradient_reversal", "entropy_maximisation"]


class LanguageTask(ConfigModel):
    """A target task, and how the language-specificity of its encoders is measured."""

    test: str = Field(description="Test set of the task, whose languages are also identified.")
    wikipedia: EncodedDataset
    """Texts that language identification is trained and tested on."""
    pooling: Literal["pooler", "mean", "cls"] = "pooler"
    """Pooling of a text to one vector; tokens are not pooled."""
    points: int = Field(ge=1, description="Points per language and label in samples (App. B).")
    conditions: dict[Condition, str] = Field(description="Family of fine-tuning runs by condition.")


class Section(ConfigModel):
    """What the artifacts of the paper need."""

    model: str = Field("mbert", description="The encoder of all its runs.")
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
    """Check that the rest of the config has what the artifacts need.

    Raises:
        Mistake: the first one.
    """
    paper: Section = config.tanti2021
    check_name("tanti2021.model", paper.model, config.encoders)
    for name, task in paper.tasks.items():
        at = f"tanti2021.tasks.{name}"
        check_language_data(config, f"{at}.wikipedia", task.wikipedia)
        for condition in ("initial", "fine_tuned"):
            check_name(f"{at}.conditions", condition, task.conditions, " there")
        for condition, family in task.conditions.items():
            place = f"{at}.conditions.{condition}"
            check_name(place, family, finetuning_families(config), " as fine-tuning")
            check_name(
                place, task.test, config.runs[family].evaluate, f" in runs.{family}.evaluate"
            )
            check_name(
                f"runs.{family}.encoder",
                config.runs[family].encoder,
                [paper.model],
                f", as {at} needs it",
            )
            _check_condition(config, place, condition, family)
            _check_comparable(config, task, family)


def _check_comparable(config: Any, task: LanguageTask, family: str) -> None:
    """Check that a condition has the languages of the task's first one, and a search."""
    first = next(iter(task.conditions.values()))
    runs, others = config.runs[family], config.runs[first]
    if set(runs.evaluate[task.test]) != set(others.evaluate[task.test]):
        raise Mistake(
            f"runs.{family}.evaluate.{task.test}",
            f"the languages are not those of runs.{first}, which is shown next to it",
            "name the same languages in both",
        )
    if runs.search is None:
        raise Mistake(
            f"runs.{family}",
            "there is no `search`, whose development sets appendix A counts",
            "add one; with `draws: 0` nothing is searched",
        )


def _check_condition(config: Any, place: str, condition: Condition, family: str) -> None:
    hyperparameters = config.runs[family].published
    method = hyperparameters.confusion.method if hyperparameters.confusion else None
    expected = None if condition in ("initial", "fine_tuned") else condition
    is_frozen = hyperparameters.trained_layers == "none"
    if method != expected or is_frozen != (condition == "initial"):
        raise Mistake(
            place,
            f"runs.{family}.published does not match the condition: `trained_layers: none` is only "
            f"for initial, and `confusion.method` is {method!r}, not {expected!r}",
            "name another family or change this one",
        )

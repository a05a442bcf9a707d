"""Selection of an epoch, see :mod:`mbert_atlas.training.methods.selection`."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from mbert_atlas.config import references as ref
from mbert_atlas.config.base import OnlyWith
from mbert_atlas.config.marks import TrainingDataset
from mbert_atlas.config.methods import MethodOptions
from mbert_atlas.config.mistakes import Mistake, report


class Selection(MethodOptions):
    """Which epoch is kept: the best on development data; without it, the last.

    The model before training (epoch 0) is a candidate; the first of equal scores wins, as in the
    code of Tanti et al. 2021 (appendix C).
    """

    only_with: ClassVar[OnlyWith] = {
        "fraction": ("development", None),
        "seed": ("development", None),
    }

    metric: Literal["accuracy", "macro_f1", "span_macro_f1", "span_micro_f1"] = "macro_f1"
    """Accuracy of texts or labelled words (of dependencies: LAS); macro F1 over the union of gold
    and predicted classes; or seqeval's F1 over spans, micro for entities, macro over spans of bare
    tags, which the authors' code takes for tokens."""
    development: TrainingDataset | None = None
    """Dataset that decides, in the training languages; none: part of the training data, sampled
    once for all runs by language, which is not trained on."""
    fraction: float = Field(0.1, gt=0, lt=1)
    """Fraction of the training data that is held out."""
    seed: int = Field(0, ge=0, description="Seed of the split.")

    def check(self, config: Any, place: str, name: str) -> None:
        """Report a metric that the task lacks, and development data that do not fit."""
        family, metrics = config.runs[name], ref.encoding_of(config, name).selection
        if self.metric not in metrics:
            problem = f"{self.metric} cannot select an epoch of this task"
            fix = f"choose {' or '.join(metrics)}" if metrics else "leave out the selection"
            report(Mistake(f"{place}.metric", problem, fix))
        if self.development is None:
            return
        at, codes = f"{place}.development", ref.training_languages(config, family)
        ref.check_no_test(config, at, self.development, "used for selection")
        ref.check_examples(config, at, family.encoding, [self.development])
        ref.check_languages(config, at, codes, self.development)

    def passes(self, batch_size: int) -> float:
        """Return the forward passes over development data."""
        return self.fraction

    def inputs(self, run: Any, files: Any) -> dict[str, str]:
        """Return the encoded development set, if there is one."""
        if self.development is None:
            return {}
        return {"development": files.examples(run, self.development)}

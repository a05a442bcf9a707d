"""Unlearning of language, see :mod:`mbert_atlas.training.methods.confusion`."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from mbert_atlas.config.base import OnlyWith
from mbert_atlas.config.methods import MethodOptions


class LanguageConfusion(MethodOptions):
    """Unlearning of the language of `language_data` (Tanti et al. 2021, section 3.1)."""

    language_data = "language_identification"
    trains_encoder = True
    only_with: ClassVar[OnlyWith] = {"uncertainty": ("method", "entropy_maximisation")}

    method: Literal["gradient_reversal", "entropy_maximisation"] = "gradient_reversal"
    """Both at each step, the language classifier's gradient reversed on its way into the encoder;
    or two phases in turn, an epoch each: the language classifier alone, then task and encoder,
    which maximises the language classifier's entropy (Eq. 1)."""
    weight: float = Field(0.1, gt=0, lt=1)
    """gradient_reversal: lambda, what the reversed gradient is multiplied by; entropy_maximisation:
    w of Eq. 1, the weight of the second term."""
    uncertainty: Literal["uniform", "entropy"] = "uniform"
    """entropy_maximisation: the second term is the sum of -ln p over the languages (Eq. 1 and
    code), or the negative entropy that the text names."""

    def passes(self, batch_size: int) -> float:
        """Return the forward passes over the language data."""
        return 3.0

    def inputs(self, run: Any, files: Any) -> dict[str, str]:
        """Return the encoded paragraphs."""
        return {"confusion_texts": files.encoded(run.base, **run.specification["language_data"])}

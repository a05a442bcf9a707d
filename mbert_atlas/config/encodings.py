"""How examples become token ids; :mod:`mbert_atlas.config.tasks` has the encoding of each task."""

from typing import ClassVar

from pydantic import Field

from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.references import EncodingName, LanguageTexts
from mbert_atlas.config.training import HeadOptions


class Encoding(ConfigModel):
    """How the examples of a task become token ids, and what else the config needs of the task.

    Attributes:
        corpus: corpus of the datasets with such examples; empty: there are none to learn from.
        scored: what is scored: ``text``, ``token`` or ``tree``.
        metrics: scores in :mod:`mbert_atlas.analysis.scores` that a search may choose by.
        selection: metrics that may select an epoch.
        transfer: whether a table of zero-shot transfer can show it.
        head: options of its classifier.
    """

    corpus: ClassVar[str] = ""
    scored: ClassVar[str] = "text"
    metrics: ClassVar[tuple[str, ...]] = ()
    selection: ClassVar[tuple[str, ...]] = ()
    transfer: ClassVar[bool] = True
    head: ClassVar[type[HeadOptions]] = HeadOptions

    task: str = Field(description="The task whose examples are encoded; text: only for vectors.")
    max_length: int = Field(128, ge=8)
    """Longest example in subwords, special tokens included."""


class ExampleEncoding(Encoding):
    """How the labelled examples of a task become token ids."""

    drop_unknown: bool = False
    """Leave out examples with [UNK] (Tanti et al. 2021, appendix A)."""


class EncodedDataset(ConfigModel):
    """A dataset under an encoding."""

    dataset: LanguageTexts = Field(description="One of `datasets`.")
    encoding: EncodingName = Field(description="One of `encodings`.")

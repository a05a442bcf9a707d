"""Hyperparameters of training, free of heavy imports."""

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from mbert_atlas.config.base import ConfigModel
from mbert_atlas.registry import Registry

LOSSES = Registry(
    {
        "squared_distance": "training.losses.squared_distance:squared_distance",
    },
)
"""Losses of aligned words by name, see :mod:`mbert_atlas.training.losses`."""


class Optimisation(ConfigModel):
    """Hyperparameters of one training run."""

    optimiser: Literal["adamw", "adam"] = Field("adamw", description="Optimiser.")
    learning_rate: float = Field(5e-5, gt=0, description="Peak learning rate of the encoder.")
    head_learning_rate: float | None = Field(None, gt=0)
    """Peak learning rate of the heads; none takes the encoder's."""
    betas: tuple[float, float] = (0.9, 0.999)
    """Adam's decay rates; .98 as the second suits few steps at a high rate."""
    epsilon: float = Field(1e-8, gt=0, description="Adam's epsilon.")
    weight_decay: float = Field(0.0, ge=0, description="Decoupled weight decay (adamw only).")
    schedule: Literal["linear", "constant"] = "linear"
    """After the warm-up: linear decay to zero, or constant."""
    warmup_fraction: float = Field(0.0, ge=0, lt=1, description="Fraction of steps that warm up.")
    clip_norm: float | None = Field(None, gt=0, description="Largest gradient norm; none: no clip.")
    batch_size: int = Field(32, ge=1, description="Examples in one optimiser step.")
    epochs: int = Field(2, ge=1, description="Passes over the training data.")
    order: Literal["bucketed", "shuffled", "sequential"] = "bucketed"
    """Batches of similar length in random order; plain shuffling; or file order."""
    token_budget: int = Field(8192, ge=16)
    """Padded tokens in one micro-batch; larger steps are accumulated."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """auto: bf16 autocast on a GPU that has it. bf16: also on a CPU that has it (AVX512-BF16, AMX).
    Elsewhere fp32."""
    checkpoint_seconds: float = Field(300.0, gt=0)
    """Seconds between two saves of the resumable state."""

    @model_validator(mode="after")
    def _decay_is_decoupled(self) -> Self:
        if self.optimiser == "adam" and self.weight_decay > 0:
            raise ValueError("weight_decay with adam would be an L2 penalty; take adamw or 0")
        return self


class Adjustment(ConfigModel):
    """Cross-lingual adjustment of an encoder (Efimov et al. 2022, section 3, Eq. 1).

    The defaults are the authors' code; the optimiser is Cao et al.'s, as section 5.1 states. Eq. 1
    has ``reduction: sum``, ``dropout_in_training: false``, so that the regulariser is zero at the
    original encoder, and ``filter_then_sample``, so that exactly `sentences` train.
    """

    sentences: int = Field(30_000, ge=1, description="Parallel sentences sampled by each seed.")
    sample_order: Literal["sample_then_filter", "filter_then_sample"] = "sample_then_filter"
    """Whether sentences without an aligned pair are dropped after sampling (fewer than `sentences`
    train) or before."""
    aggregation: Literal["first", "last", "mean"] = "mean"
    """How the subwords of a word become one vector (Table 6)."""
    words: bool = Field(True, description="Align words (Table 7).")
    special_tokens: Literal["none", "cls", "cls_sep"] = "cls_sep"
    """Align [CLS], or [CLS] and [SEP], of both sides (Table 7)."""
    loss: str = "squared_distance"
    """What pulls aligned words together: the squared distance of Eq. 1, or another loss that has
    been registered."""
    regulariser: bool = True
    """Hold English words to the original encoder (second term of Eq. 1)."""
    reduction: Literal["mean", "sum"] = "mean"
    """sum: squared norms summed as in Eq. 1, per sentence of the step. mean: each term averaged
    over pairs (or words) and dims in groups of `group_size`, groups added up."""
    group_size: int = Field(4, ge=1)
    """Sentences of the sample in one group of the reduction `mean`."""
    dropout_in_training: bool = True
    """Dropout in the adjusted encoder; the frozen original has none."""
    optimisation: Optimisation = Optimisation(
        optimiser="adam",
        betas=(0.9, 0.98),
        epsilon=1e-9,
        schedule="constant",
        warmup_fraction=0.1,
        epochs=1,
        order="sequential",
        precision="fp32",
    )
    """Optimiser, schedule, batches."""

    @field_validator("loss")
    @classmethod
    def _is_registered(cls, name: str) -> str:
        if name not in LOSSES:
            raise ValueError(f"{name!r} is no loss; there are: {', '.join(LOSSES)}")
        return name

    @model_validator(mode="after")
    def _aligns_something(self) -> Self:
        if not self.words and self.special_tokens == "none":
            raise ValueError("nothing to align: set `words` or `special_tokens`")
        return self


class MaskedTraining(ConfigModel):
    """Masked language modelling of an existing encoder (Devlin et al. 2019, section 3.1)."""

    max_length: int = Field(128, ge=8)
    """Longest training row with special tokens; texts are cut."""
    masking_probability: float = Field(0.15, gt=0, lt=1)
    """Masking rate; of the predicted 80% are masked, 10% random, which helps to mix languages
    (Dufter and Schütze 2020). Tiny encoders learn more with .3."""
    texts_per_language: int | None = Field(None, ge=1)
    """Use at most this many texts per language."""
    sentences_per_language: int | None = Field(None, ge=1)
    """Use at most this many sentences per language."""
    packed: bool = False
    """Texts of a language follow each other in rows of `max_length`, so that the window is as long
    as it says; else each text begins a row."""
    optimisation: Optimisation = Optimisation(learning_rate=2e-5, epochs=1)
    """Optimiser, schedule, batches."""


class Pretraining(MaskedTraining):
    """An encoder pretrained by masked language modelling (Devlin et al. 2019, section 3.1)."""

    pieces: int | None = Field(None, ge=1)
    """Approximate number of training tokens in all, without special ones: the nearest number of
    passes, which overrides `epochs`; none: `epochs`."""
    architecture: Literal["bert", "xlm-roberta"] = "bert"
    """BERT with WordPiece, or XLM-R with SentencePiece's unigram model (Conneau et al. 2020)."""
    vocabulary_size: int = Field(8000, ge=100, description="Size with special tokens.")
    alphabet_size: int = Field(1000, ge=1)
    """Most characters among the subwords; unigram models have all."""
    hidden_size: int = Field(256, ge=8, description="Width of the encoder.")
    layers: int = Field(4, ge=1, description="Transformer layers.")
    heads: int = Field(4, ge=1, description="Attention heads per layer.")
    intermediate_size: int = Field(1024, ge=8, description="Width of the feed-forward layers.")
    positions: int = Field(512, ge=8, description="Longest input that the encoder can take.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Dropout of hidden states and attention.")
    initial_deviation: float = Field(0.02, gt=0)
    """Standard deviation of the initial weights; BERT's suits widths of hundreds."""
    output_bias: Literal["zero", "log_frequency"] = "zero"
    """Bias of the language-model head at the start: zero, as BERT's; or the log frequency of each
    subword in the texts, which a short training need not learn."""
    optimisation: Optimisation = Optimisation(
        learning_rate=1e-3, warmup_fraction=0.1, weight_decay=0.01, epochs=10
    )
    """Optimiser, schedule, batches."""

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        size, heads, alphabet = self.hidden_size, self.heads, self.alphabet_size
        if size % heads:
            raise ValueError(f"`hidden_size` ({size}) is no multiple of `heads` ({heads})")
        if (length := self.max_length) > self.positions:
            raise ValueError(f"`max_length` ({length}) is above `positions` ({self.positions})")
        if alphabet >= (words := self.vocabulary_size):
            problem = f"`alphabet_size` ({alphabet}) leaves no room for words in"
            raise ValueError(f"{problem} `vocabulary_size` ({words})")
        return self


class Extension(ConfigModel):
    """More subwords for one language in an encoder's vocabulary (Wang et al. 2020, EmBERT)."""

    vocabulary_size: int = Field(30_000, ge=100)
    """Subwords learned from the language's texts."""
    alphabet_size: int = Field(1000, ge=1)
    """Most single characters among them; unigram models have all."""
    pieces: int | None = Field(None, ge=1)
    """Most new subwords that are appended, the most frequent or probable first; none: all."""
    texts: int | None = Field(None, ge=1, description="Learn from at most this many texts.")
    rows: Literal["normal", "pieces"] = "normal"
    """Embeddings of new subwords: initialised like the encoder's weights, or the mean of the old
    subwords that spell the new one."""


class HeadOptions(ConfigModel):
    """The classifier on top of the encoder; its biases begin at zero."""

    dropout: float = Field(0.1, ge=0, lt=1, description="Dropout before the linear layer.")
    initial_stddev: float | None = Field(None, gt=0)
    """Standard deviation of its initial weights; none takes BERT's .02."""


class BiaffineOptions(HeadOptions):
    """The biaffine classifier of arcs and relations (Dozat and Manning 2017)."""

    arc_size: int = Field(500, ge=1)
    """parsing: units of a word as dependent, and as head."""
    relation_size: int = Field(200, ge=1, description="parsing: the same for relations.")

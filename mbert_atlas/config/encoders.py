"""Where encoders come from: the hub, a folder, pretraining, or a modified encoder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from mbert_atlas.config.base import ConfigModel, FilePath, Seed
from mbert_atlas.config.marks import Trained
from mbert_atlas.config.merging import SOURCES
from mbert_atlas.config.references import EncoderName, Reference, RunningText
from mbert_atlas.config.training import Extension, MaskedTraining, Optimisation, Pretraining
from mbert_atlas.files import read_json


class Hub(ConfigModel):
    """An encoder on the Hugging Face hub, pinned."""

    repository: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    """Repository, as organisation/name."""
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")
    """Commit hash; a branch such as main would move."""


def _is_of_words(dataset: Any) -> bool:
    return dataset.content == "bitext" and not dataset.parent


class AlignedStart(ConfigModel):
    """Word embeddings initialised near their translations' by latent semantic indexing.

    This is cross-lingual supervision: the encoder did not learn by itself which words are
    translations.
    """

    bitexts: list[
        Annotated[str, Reference("datasets", " as a bitext of words", _is_of_words), Trained()]
    ]
    """Bitexts with the translations, in all their languages; translations of one English sentence
    belong together."""
    deviation: float = Field(0.1, gt=0)
    """Standard deviation of these embeddings; at BERT's .02 a short training at a high learning
    rate overwrites them."""
    pairs: int | None = Field(None, ge=1)
    """Use the first pairs of each bitext and language; none: all."""


class Scratch(ConfigModel):
    """An encoder pretrained by the workflow."""

    texts: list[RunningText]
    """Training texts: wikipedia or plain_text datasets."""
    languages: list[str] | None = None
    """Languages of these texts to train on; none: all."""
    tokenizer_of: EncoderName | None = None
    """Encoder whose tokenizer is reused; none: train one."""
    pretraining: Pretraining = Field(description="Size and training of the encoder.")
    aligned_start: AlignedStart | None = None
    """Initialise word embeddings from translations, which is cross-lingual supervision; none: at
    random, as BERT does."""
    seed: int = Field(1, ge=0, description="Seed of the initial weights, masks and batches.")
    shipped: str | None = Field(None, pattern=r"^resources/encoders/[A-Za-z0-9_-]+$")
    """Folder of the repository with this encoder, pretrained by `make encoder`. It is used if it
    was trained with exactly these settings; otherwise it is trained again."""


class ExtendedVocabulary(ConfigModel):
    """An encoder with an extended vocabulary, pretrained further (Wang et al. 2020, EmBERT)."""

    kind: Literal["extended_vocabulary"] = Field(description="Kind of modification.")
    encoder: EncoderName = Field(description="The encoder to start from.")
    texts: list[RunningText]
    """Training texts: wikipedia or plain_text datasets."""
    languages: list[str]
    """Languages to train on; each of the datasets has them."""
    extension: Extension = Field(default_factory=Extension)
    """The new subwords and their initial embeddings."""
    training: MaskedTraining = Field(default_factory=MaskedTraining)
    """The pretraining that follows."""
    seed: int = Field(1, ge=0, description="Seed of the new embeddings, masks and batches.")


class HeadTraining(MaskedTraining):
    """Masked language modelling of a language-model head, its encoder frozen."""

    optimisation: Optimisation = Optimisation(
        learning_rate=3e-3, warmup_fraction=0.1, batch_size=8, epochs=1
    )
    """Optimiser, schedule, batches."""


class FittedHead(ConfigModel):
    """How the language-model head of an encoder without one is fitted, the encoder frozen."""

    texts: list[RunningText]
    """Training texts: wikipedia or plain_text datasets."""
    languages: list[str] | None = None
    """Languages of these texts to fit on; none: all."""
    training: HeadTraining = Field(default_factory=HeadTraining)
    """Masked language modelling of the head's transform and biases; every twentieth row is left out
    and measures the accuracy."""
    seeds: list[Seed] = Field([1, 2], min_length=1)
    """Seeds of initial weights, masks and batches: a head for each, as what it predicts depends on
    it. With one seed, claims about predicted tokens have too few seeds."""


class Encoder(ConfigModel):
    """Where an encoder comes from: exactly one of hub, folder, scratch and changed."""

    hub: Hub | None = Field(None, description="Hub repository at a pinned revision.")
    folder: FilePath | None = None
    """Local folder with safetensors and a tokenizer."""
    scratch: Scratch | None = Field(None, description="Pretrain from scratch.")
    changed: ExtendedVocabulary | None = Field(None, description="Another encoder, modified.")
    language_model_head: Literal["fitted"] | None = None
    """fitted: trained as `fitted_head` says, for an encoder from a hub or folder that has none;
    none: the encoder's."""

    sentencepiece: bool = False
    """Of an encoder from a hub or folder: its tokenizer is SentencePiece's, which splits some words
    into a lone word-boundary symbol and the rest. Under `corrected` the first subword that has
    characters carries the label of a word."""

    allow_unknown: bool = False
    """Encode languages of which more than 5% of the subwords are [UNK], instead of stopping."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        keys = [name for name in SOURCES if getattr(self, name) is not None]
        if len(keys) != 1:
            names = ", ".join(keys) or "none"
            raise ValueError(f"give exactly one of {', '.join(SOURCES)} (found {names})")
        if self.language_model_head and not (self.hub or self.folder):
            problem = "`language_model_head: fitted` is for encoders from a hub or folder"
            raise ValueError(f"{problem}; {keys[0]} trains the head, so leave it out")
        return self

    @property
    def origin(self) -> str:
        """Where it comes from, in words, and the size of an encoder in a folder."""
        if self.hub:
            return f"{self.hub.repository} at {self.hub.revision[:10]}"
        if self.folder:
            size = size_of(Path(self.folder) / "config.json")
            return ", ".join(filter(None, [f"folder {Path(self.folder).name}", size]))
        if self.changed:
            return f"{self.changed.encoder} with an extended vocabulary"
        return "pretrained from scratch"

    @property
    def base(self) -> str | None:
        """The encoder that this one cannot be made without."""
        if self.changed:
            return self.changed.encoder
        return self.scratch.tokenizer_of if self.scratch else None


def size_of(path: Path) -> str:
    """Return layers, hidden size and vocabulary of an encoder in words; empty without the file."""
    shape = shape_of(path)
    return f"{shape}, {read_json(path).get('vocab_size', 0):,} subwords" if shape else ""


def shape_of(path: Path) -> str:
    """Return layers and hidden size of an encoder in words; empty without the file."""
    if not path.is_file():
        return ""
    config = read_json(path)
    layers = config.get("num_hidden_layers", config.get("n_layers"))  # the latter: DistilBERT
    return f"{layers} layers of {config.get('hidden_size', config.get('dim'))}"


def has_sentencepiece(encoders: Mapping[str, Encoder], name: str) -> bool:
    """Return whether the tokenizer of an encoder is SentencePiece's."""
    item = encoders[name]
    if item.base:
        return has_sentencepiece(encoders, item.base)
    if item.scratch:
        return item.scratch.pretraining.architecture == "xlm-roberta"
    return item.sentencepiece

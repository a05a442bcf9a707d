"""What artifacts need of an encoder, and whether it has that."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from mbert_atlas.config.base import PROTOCOLS

Part = Literal["head", "pooler", "layers", "layer", "tokenizer"]
TOKENIZERS = ("WordPiece", "Unigram")
"""Kinds of tokenizers whose subwords show whether they begin a word, and can be extended."""

PRETRAINED = ("bert", "xlm-roberta")
"""Families whose language-model heads are read, fitted and trained."""


@dataclass(frozen=True)
class Facts:
    """What an encoder has, from the headers of its files or from its config."""

    layers: int
    head: bool  # a language-model head that was trained
    pooler: bool  # a pooler that was trained
    tokenizer: str  # kind of the tokenizer's model, as in tokenizer.json
    family: str = "bert"  # `model_type` of transformers
    positions: int | None = None  # the longest text in subwords; none: not stated, or no limit
    scripts: frozenset[str] | None = None  # with a letter in the vocabulary; none: not known
    boundaries: bool = False  # whether the vocabulary has the lone boundary of words, "▁"


@dataclass(frozen=True)
class Need:
    """What an artifact needs of an encoder: a trained head or pooler, layers, a tokenizer."""

    encoder: str  # its name in the config
    part: Part  # layers: exactly `value`; layer: at least `value`; tokenizer: of `TOKENIZERS`
    key: str = ""  # of the config that states the value or offers something else
    value: int = 0

    @property
    def place(self) -> str:
        """The key of the config that a mistake is about."""
        return self.key or f"encoders.{self.encoder}"

    def unmet(self, facts: Facts) -> tuple[str, str] | None:
        """Return what an encoder lacks and what to do instead, as clauses; none: nothing."""
        name, layers = f"the encoder {self.encoder!r}", facts.layers
        is_trainable = facts.family in PRETRAINED
        match self.part:
            case "head" | "tokenizer" if not is_trainable:
                problem = f"{name} is of {facts.family}, whose language-model head is not read"
                return problem, f"take an encoder of {' or '.join(PRETRAINED)}"
            case "head" if not facts.head:
                problem = f"{name} has no language-model head, and predicted tokens need one"
                return problem, f"write `encoders.{self.encoder}.language_model_head: fitted`"
            case "pooler" if not facts.pooler:
                problem = f"{name} has no trained pooler, and vectors of texts are its output"
                return problem, f"write `{self.key}: mean` or `cls`"
            case "layers" if self.value != layers:
                return f"{self.key} is {self.value}, and {name} has {layers}", f"write {layers}"
            case "layer" if self.value > layers:
                problem = f"it is about layer {self.value}, and {name} has {layers}"
                return problem, f"name layers up to {layers}"
            case "tokenizer" if facts.tokenizer not in TOKENIZERS:
                kinds = " or ".join(TOKENIZERS)
                problem = f"{name} has a tokenizer of kind {facts.tokenizer}, not {kinds}"
                return problem, "take another encoder"
        return None


def deepest_layer(config: Any, families: Iterable[str]) -> int:
    """Return the last layer that families of fine-tuning runs name, from 1; 0: none."""
    layers = [0]
    variants = [getattr(config.runs[name], each) for name in families for each in PROTOCOLS]
    for options in filter(None, variants):
        trained = options.trained_layers if isinstance(options.trained_layers, list) else []
        named = {*options.reinitialised_layers, *trained} - {"embeddings"}
        layers += [int(item.rpartition("-")[2]) for item in named]
        layers += [getattr(item, "last_layer", 0) for item in options.methods.values()]
    return max(layers)

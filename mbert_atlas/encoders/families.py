"""The families of encoders that load, and how each differs from BERT; without torch.

Every difference was found with small random models, see tests/unit/test_encoder_families.py, which
compares each family with what transformers computes. A family that is not listed is rejected, as
one that opens may still be silently wrong: local attention, norms above the last layer, shared
layers, embeddings with a scale.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Family:
    """What an encoder of one ``model_type`` of transformers has."""

    prefix: str  # of its weights' names, where they were saved with a head
    pooler: bool = False  # whether there is one, which classifies texts
    like_bert: bool = False
    """Whether a mask that is added to the scores equals one of two axes, and all layers take the
    same arguments."""
    first: str = ""  # module whose output is hidden state 0; none: the input of the first layer
    final: str = ""  # module whose output is the last hidden state; none: the last layer
    positions_after_padding: bool = False  # whether positions count from the padding's id + 1
    head: str = ""  # name of a weight of its language-model head, if that can be read


FAMILIES: Mapping[str, Family] = {
    "bert": Family(
        "bert.", pooler=True, like_bert=True, head="cls.predictions.transform.dense.weight"
    ),
    "xlm-roberta": Family(
        "roberta.",
        pooler=True,
        like_bert=True,
        positions_after_padding=True,
        head="lm_head.dense.weight",
    ),
    "roberta": Family("roberta.", pooler=True, like_bert=True, positions_after_padding=True),
    "distilbert": Family("distilbert.", like_bert=True),
    "deberta-v2": Family("deberta.", first="embeddings"),
    "rembert": Family("rembert.", pooler=True, first="encoder.embedding_hidden_mapping_in"),
    "gte": Family("gte."),
    "nomic_bert": Family("nomic_bert."),
    "jina_embeddings_v3": Family("roberta.", pooler=True),
    "modernbert": Family("model.", final="final_norm"),
    "eurobert": Family("model.", final="norm"),
    "ultrabert": Family("model.", final="norm"),
}
_REJECTED = {
    "canine": "it reads characters, and its hidden states depend on the padding",
    "xlm": "its attention and feed-forward layers are separate lists, of which hooks need one",
    "albert": "all its layers are one set of weights, so that none can be changed alone",
    **dict.fromkeys(
        ("new", "xlm-roberta-flash"),
        "it is made of code in its repository; take a revision that transformers opens itself",
    ),
}


def why_not(config: Mapping[str, Any]) -> str:
    """Return why an encoder with this ``config.json`` can't be used; empty if it can."""
    kind = config.get("model_type")
    if not isinstance(kind, str):
        return f"{kind!r} is no family" if "model_type" in config else "the key is missing"
    if kind in FAMILIES and not config.get("is_decoder"):
        return ""
    reason = _REJECTED.get(kind, "")
    architectures = config.get("architectures")
    names = " ".join(map(str, architectures)) if isinstance(architectures, list) else ""
    if config.get("is_encoder_decoder"):
        reason = "it is an encoder with a decoder"
    elif config.get("is_decoder") or re.search("CausalLM|LMHead(Model|$)", names):
        reason = "it is a decoder, in which a token does not see those after it"
    return f"{kind!r} is not supported: {reason or 'it has not been compared with BERT'}"


def family_of(config: Any) -> Family:
    """Return the family of a model's configuration; of an unknown one, BERT's without a pooler."""
    return FAMILIES.get(config.model_type, Family(""))


def positions_of(config: Mapping[str, Any]) -> int | None:
    """Return the longest text, in subwords, by ``config.json``; none if it states no limit."""
    positions = config.get("max_position_embeddings")
    if not isinstance(positions, int):
        return None
    family = FAMILIES.get(str(config.get("model_type")))
    is_shifted = family is not None and family.positions_after_padding
    padding = config.get("pad_token_id")
    return positions - (padding if isinstance(padding, int) else 1) - 1 if is_shifted else positions


def size_in(config: Mapping[str, Any], *names: str) -> Any:
    """Return the value of the first of some keys that ``config.json`` has, if any."""
    return next((config[name] for name in names if config.get(name) is not None), None)


LAYERS = ("num_hidden_layers", "n_layers")
HIDDEN = ("hidden_size", "dim")
HEADS = ("num_attention_heads", "n_heads")
EMBEDDED = ("input_embedding_size", "embedding_size", *HIDDEN)
"""Names of sizes in the configurations of different families."""

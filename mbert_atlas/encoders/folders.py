"""Checks of encoder folders, from headers alone: neither torch nor the weights are read."""

import json
import re
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from mbert_atlas.errors import DataError
from mbert_atlas.plan.needs import Facts

_TOKENIZERS = {"bert": ["vocab.txt", "tokenizer.json"], "xlm-roberta": ["tokenizer.json"]}
"""By kind of encoder the files one of which it needs."""
_PREFIXES = {"bert": "bert.", "xlm-roberta": "roberta."}
"""Prefixes of the names of their weights, unless the encoder was saved without any head."""
_HEADS = ("cls.predictions.transform.dense.weight", "lm_head.dense.weight")
"""Weights of the language-model heads of BERT and XLM-R, and the end of a pooler's name."""
_POOLER = "pooler.dense.weight"
_FIX = "fetch or train the encoder again or correct the path"


def require_encoder(folder: Path) -> None:
    """Raise a DataError unless a folder has a configuration, and weights that are not pickled."""
    require_file(folder, "config.json")
    if not (folder / "model.safetensors").is_file() and (folder / "pytorch_model.bin").is_file():
        problem = "the weights are pickled, which can run code when opened"
        fix = "convert them to model.safetensors or take a revision of the model that has it"
        raise DataError(folder, "pytorch_model.bin", problem, fix)
    require_file(folder, "model.safetensors")


def require_file(folder: Path, name: str) -> None:
    """Raise a DataError unless an encoder folder has a file."""
    if not (folder / name).is_file():
        raise DataError(folder, name, "the encoder folder lacks this file", _FIX)


def check_folder(folder: Path) -> int:
    """Check that a folder holds a usable encoder with its tokenizer; return its layers.

    Raises a DataError if a file is missing or unreadable, the architecture is neither BERT nor
    XLM-R, or the weights have other sizes than those of ``config.json``.
    """
    if not folder.is_dir():
        raise DataError(folder, "", "there is no such folder", "correct the path")
    require_file(folder, "config.json")
    kind, sizes = _architecture(folder / "config.json")
    if not any((folder / name).is_file() for name in _TOKENIZERS[kind]):
        names = " or ".join(_TOKENIZERS[kind])
        raise DataError(folder, "", f"there is no {names}, the tokenizer", _FIX)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        if (folder / name).is_file():
            _json(folder / name)
    require_encoder(folder)
    weights = folder / "model.safetensors"
    shapes = _shapes(weights)
    for other, prefix in _PREFIXES.items():
        if other != kind and any(name.startswith(prefix) for name in shapes):
            problem = f"the weights are of {other}, but config.json states {kind}"
            raise DataError(weights, "model_type", problem, _FIX)
    layers = {int(match[1]) for name in shapes if (match := re.search(r"\.layer\.(\d+)\.", name))}
    if len(layers) != sizes["num_hidden_layers"]:
        problem = f"{len(layers)} layers, but config.json states {sizes['num_hidden_layers']}"
        raise DataError(weights, "num_hidden_layers", problem, _FIX)
    expected = [sizes["vocab_size"], sizes["hidden_size"]]
    for name, shape in shapes.items():
        if name.endswith("embeddings.word_embeddings.weight") and shape != expected:
            size, stated = (" x ".join(map(str, item)) for item in (shape, expected))
            problem = f"{size}, but config.json states {stated}"
            raise DataError(weights, name, problem, _FIX)
    return len(layers)


def facts_of(folder: Path) -> Facts:
    """Return what the encoder of a folder has, after the checks of :func:`check_folder`."""
    layers, names = check_folder(folder), _shapes(folder / "model.safetensors").keys()
    kind = "WordPiece"  # of a vocab.txt
    if (path := folder / "tokenizer.json").is_file():
        kind = str((_json(path).get("model") or {}).get("type"))
    return Facts(
        layers,
        head=any(name in names for name in _HEADS),
        pooler=any(name.endswith(_POOLER) for name in names),
        tokenizer=kind,
    )


def _architecture(path: Path) -> tuple[str, dict[str, int]]:
    """Return kind and sizes of an encoder, from its configuration."""
    config = _json(path)
    kind = config.get("model_type")
    if kind not in _TOKENIZERS:
        names = " or ".join(_TOKENIZERS)
        raise DataError(path, "model_type", f"{kind!r} is not {names}", "take another encoder")
    keys = ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size")
    sizes: dict[str, Any] = {key: config.get(key) for key in keys}
    for key, size in sizes.items():
        if type(size) is not int or size < 1:
            raise DataError(path, key, f"{size!r} is no positive number", _FIX)
    if sizes["hidden_size"] % sizes["num_attention_heads"]:
        raise DataError(path, "hidden_size", "it is no multiple of num_attention_heads", _FIX)
    return kind, sizes


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # not UTF-8 either
        raise DataError(path, "", f"not readable as JSON ({error})", _FIX) from error
    if not isinstance(content, dict):
        raise DataError(path, "", "not a mapping of keys", _FIX)
    return content


def _shapes(path: Path) -> dict[str, list[int]]:
    """Return the shapes of the tensors of a safetensors file, from its header."""
    try:
        with safe_open(path, "numpy") as weights:
            names = weights.keys()
            return {name: list(weights.get_slice(name).get_shape()) for name in names}
    except (OSError, SafetensorError) as error:
        problem = f"not a whole safetensors file ({error})"
        raise DataError(path, "", problem, _FIX) from error

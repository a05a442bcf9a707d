"""Checks of encoder folders, from headers alone: neither torch nor the weights are read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mbert_atlas.errors import DataError

ARCHITECTURES = {"bert": ["vocab.txt", "tokenizer.json"], "xlm-roberta": ["tokenizer.json"]}
"""Kinds of encoders; each needs one of these files of the tokenizer."""
_PREFIXES = {"bert": "bert.", "xlm-roberta": "roberta."}
"""Prefixes of the names of their weights, unless the encoder was saved without any head."""
_LARGEST_HEADER = 100_000_000
_FIX = "fetch or train the encoder again or correct the path"


def require_encoder(folder: Path) -> None:
    """Check that a folder has a configuration, and weights that are not pickled.

    Raises:
        DataError: if not.
    """
    require_file(folder, "config.json")
    if not (folder / "model.safetensors").is_file() and (folder / "pytorch_model.bin").is_file():
        problem = "the weights are pickled, which can run code when opened"
        fix = "convert them to model.safetensors or take a revision of the model that has it"
        raise DataError(folder, "pytorch_model.bin", problem, fix)
    require_file(folder, "model.safetensors")


def require_file(folder: Path, name: str) -> None:
    """Check that an encoder folder has a file.

    Raises:
        DataError: if not.
    """
    if not (folder / name).is_file():
        raise DataError(folder, name, "the encoder folder lacks this file", _FIX)


def check_folder(folder: Path) -> int:
    """Check that a folder holds a usable encoder.

    Args:
        folder: with ``config.json``, ``model.safetensors`` and a tokenizer.

    Returns:
        The number of its layers.

    Raises:
        DataError: if a file is missing or unreadable, the architecture is neither BERT nor XLM-R,
            or the weights have other sizes than those of ``config.json``.
    """
    if not folder.is_dir():
        raise DataError(folder, "", "there is no such folder", "correct the path")
    require_file(folder, "config.json")
    kind, sizes = _architecture(folder / "config.json")
    if not any((folder / name).is_file() for name in ARCHITECTURES[kind]):
        names = " or ".join(ARCHITECTURES[kind])
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


def _architecture(path: Path) -> tuple[str, dict[str, int]]:
    """Return kind and sizes of an encoder, from its configuration."""
    config = _json(path)
    kind = config.get("model_type")
    if kind not in ARCHITECTURES:
        names = " or ".join(ARCHITECTURES)
        raise DataError(path, "model_type", f"{kind!r} is not {names}", "take another encoder")
    sizes: dict[str, int] = {}
    for key in ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"):
        size = config.get(key)
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise DataError(path, key, f"{size!r} is no positive number", _FIX)
        sizes[key] = size
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
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header: Any = json.loads(stream.read(length)) if length < _LARGEST_HEADER else None
            end = stream.seek(0, 2)
        tensors = {name: item for name, item in header.items() if name != "__metadata__"}
        whole = 8 + length + max((item["data_offsets"][1] for item in tensors.values()), default=0)
    except (OSError, ValueError, AttributeError, KeyError, TypeError, IndexError) as error:
        raise DataError(path, "", "not a safetensors file", _FIX) from error
    if whole != end:
        raise DataError(path, "", f"truncated: {end} of {whole} bytes", _FIX)
    return {name: list(item["shape"]) for name, item in tensors.items()}

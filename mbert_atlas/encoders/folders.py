"""What an encoder's folder says of itself, read in no time: neither torch nor the weights are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mbert_atlas.errors import DataError

ARCHITECTURES = {"bert": ["vocab.txt", "tokenizer.json"], "xlm-roberta": ["tokenizer.json"]}
"""Kinds of encoders, and the files of which one is the tokenizer's."""
_PREFIXES = {"bert": "bert.", "xlm-roberta": "roberta."}
"""What the names of their weights begin with, unless the encoder was saved without any head."""
_LARGEST_HEADER = 100_000_000


def check_folder(folder: Path) -> int:
    """See whether a folder holds an encoder that can be used.

    Args:
        folder: with ``config.json``, ``model.safetensors`` and a tokenizer.

    Returns:
        The number of its layers.

    Raises:
        DataError: if a file is missing or unreadable, the architecture is another one than BERT or
            XLM-R, or the weights have other sizes than ``config.json`` states.
    """
    mend = "fetch or train the encoder again or correct the path"
    if not folder.is_dir():
        raise DataError(folder, "", "there is no such folder", "correct the path")
    path = folder / "config.json"
    stated = _json(path, mend)
    kind = stated.get("model_type")
    if kind not in ARCHITECTURES:
        known = " or ".join(ARCHITECTURES)
        raise DataError(path, "model_type", f"{kind!r} is not {known}", "take another encoder")
    sizes: dict[str, int] = {}
    for key in ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"):
        size = stated.get(key)
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise DataError(path, key, f"{size!r} is no positive number", mend)
        sizes[key] = size
    if sizes["hidden_size"] % sizes["num_attention_heads"]:
        raise DataError(path, "hidden_size", "it is no multiple of num_attention_heads", mend)
    if not any((folder / name).is_file() for name in ARCHITECTURES[kind]):
        names = " or ".join(ARCHITECTURES[kind])
        raise DataError(folder, "", f"there is no {names}, the tokenizer", mend)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        if (folder / name).is_file():
            _json(folder / name, mend)
    if not (folder / "model.safetensors").is_file() and (folder / "pytorch_model.bin").is_file():
        problem = "the weights are pickled, which can run code when opened"
        mend = "convert them to model.safetensors or take a revision of the model that has it"
        raise DataError(folder, "pytorch_model.bin", problem, mend)
    weights = folder / "model.safetensors"
    shapes = _shapes(weights, mend)
    for other, prefix in _PREFIXES.items():
        if other != kind and any(name.startswith(prefix) for name in shapes):
            problem = f"the weights are of {other}, and config.json says {kind}"
            raise DataError(weights, "model_type", problem, mend)
    layers = {int(found[1]) for name in shapes if (found := re.search(r"\.layer\.(\d+)\.", name))}
    if len(layers) != sizes["num_hidden_layers"]:
        problem = f"{len(layers)} layers, and config.json says {sizes['num_hidden_layers']}"
        raise DataError(weights, "num_hidden_layers", problem, mend)
    for name, shape in shapes.items():
        wanted = [sizes["vocab_size"], sizes["hidden_size"]]
        if name.endswith("embeddings.word_embeddings.weight") and shape != wanted:
            problem = (
                f"{' x '.join(map(str, shape))}, and config.json says {wanted[0]} x {wanted[1]}"
            )
            raise DataError(weights, name, problem, mend)
    return len(layers)


def _json(path: Path, mend: str) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(path, "", "the encoder folder lacks this file", mend) from error
    except ValueError as error:  # UTF-8 too
        raise DataError(path, "", f"not JSON ({error})", mend) from error
    if not isinstance(found, dict):
        raise DataError(path, "", "not a mapping of keys", mend)
    return found


def _shapes(path: Path, mend: str) -> dict[str, list[int]]:
    """Return the shapes of the tensors of a safetensors file, from its header."""
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header: Any = json.loads(stream.read(length)) if length < _LARGEST_HEADER else None
            end = stream.seek(0, 2)
        tensors = {name: item for name, item in header.items() if name != "__metadata__"}
        whole = 8 + length + max((item["data_offsets"][1] for item in tensors.values()), default=0)
    except OSError as error:
        raise DataError(path, "", "the encoder folder lacks this file", mend) from error
    except (ValueError, AttributeError, KeyError, TypeError, IndexError) as error:
        raise DataError(path, "", "not a safetensors file", mend) from error
    if whole != end:
        raise DataError(path, "", f"cut short: {end} of {whole} bytes", mend)
    return {name: list(item["shape"]) for name, item in tensors.items()}

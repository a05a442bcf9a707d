"""Checks of encoder folders, from headers alone: neither torch nor the weights are read."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, get_args

from safetensors import SafetensorError, safe_open

from mbert_atlas.corpora.scripts import scripts_in
from mbert_atlas.encoders.families import (
    EMBEDDED,
    FAMILIES,
    HEADS,
    HIDDEN,
    LAYERS,
    positions_of,
    size_in,
    why_not,
)
from mbert_atlas.errors import DataError
from mbert_atlas.files import require_data
from mbert_atlas.plan.needs import TOKENIZERS, Facts
from mbert_atlas.tokenizer import Special, open_tokenizer, special_id

TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "merges.txt")
SENTENCEPIECE = "*.model"
"""Files of which an encoder needs one for its tokenizer, or one of SentencePiece."""
LAYER = re.compile(r"(?:^|\.)layers?\.(\d+)\.")
"""The number of a layer in the name of a weight."""
_WORDS = ("embeddings.word_embeddings.weight", "tok_embeddings.weight", "embed_tokens.weight")
_POOLER = "pooler.dense.weight"
"""Ends of the names of word embeddings and of a pooler."""
_INDEX = "model.safetensors.index.json"
_FEWEST_SUBWORDS = 0.5
"""Fraction of the rows of the embeddings below which the tokenizer is not the encoder's: some pad
their embeddings, but a tokenizer that was saved in the wrong way has a handful."""
_FIX = "fetch or train the encoder again or correct the path"
_OF_ANOTHER = (
    "these are weights of another library",
    "save them as model.safetensors with transformers, or take a revision that has it",
)
_INSTEAD = {
    "pytorch_model*.bin": (
        "the weights are pickled, which can run code when opened",
        "convert them to model.safetensors or take a revision of the model that has it",
    ),
    "model-*-of-*.safetensors": (f"this is a part, and no {_INDEX} lists the parts", "get it, too"),
    "adapter_model.*": (
        "this is an adapter without its encoder",
        "merge it into the encoder and save that (merge_and_unload, save_pretrained)",
    ),
    "*.safetensors": ("there is no model.safetensors", "rename this file if it has the weights"),
    "tf_model*.h5": _OF_ANOTHER,
    "flax_model*.msgpack": _OF_ANOTHER,
    "*.onnx": _OF_ANOTHER,
    "*.gguf": _OF_ANOTHER,
}
"""Files that a folder may have instead of weights as they are read: what is wrong, and the fix."""
_QUANTISED = re.compile(r"[IU][48]|F4|F[68]_.*")
"""Types of weights that are numbers only with a scale, which is not read."""


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files of an encoder folder: one, or those that its index lists.

    Raises a DataError if the index is unreadable or a file that it lists is missing.
    """
    index = folder / _INDEX
    if (folder / "model.safetensors").is_file() or not index.is_file():
        return [folder / "model.safetensors"]
    names = _json(index).get("weight_map")
    is_map = isinstance(names, dict) and all(isinstance(name, str) for name in names.values())
    if not names or not is_map:
        raise DataError(index, "key weight_map", "not a mapping from weights to files", _FIX)
    for name in sorted(set(names.values())):
        if Path(name).name != name:
            raise DataError(index, "key weight_map", f"{name!r} is in another folder", _FIX)
        require_file(folder, name)
    return [folder / name for name in sorted(set(names.values()))]


def require_encoder(folder: Path) -> None:
    """Raise a DataError unless a folder has an encoder of a family, not pickled."""
    if not (folder / "config.json").is_file():
        inner = sorted([*folder.glob("*/config.json"), *folder.glob("snapshots/*/config.json")])
        if inner:
            fix = f"did you mean {inner[0].parent}?"
            raise DataError(folder, "config.json", "the encoder folder lacks this file", fix)
    require_file(folder, "config.json")
    if problem := why_not(_json(folder / "config.json")):
        fix = f"take an encoder of {', '.join(FAMILIES)}"
        raise DataError(folder / "config.json", "model_type", problem, fix)
    names = [path.name for path in folder.iterdir()]  # links to nothing, too
    if "model.safetensors" not in names and _INDEX not in names:
        for pattern, reason in _INSTEAD.items():
            for path in sorted(folder.glob(pattern)):
                raise DataError(folder, path.name, *reason)
    for path in weight_files(folder):
        require_file(folder, path.name)


def require_file(folder: Path, name: str) -> None:
    """Raise a DataError unless an encoder folder has a file that is no pointer or page."""
    path = folder / name
    if not path.is_file():
        problem = "the encoder folder lacks this file"
        if path.is_symlink():
            problem = f"this is a link to {path.readlink()}, which is not there"
        raise DataError(folder, name, problem, _FIX)
    with path.open("rb") as stream:
        try:
            require_data(stream.read(4096), path)
        except DataError as error:
            raise DataError(folder, name, error.problem, _FIX) from None


def check_folder(folder: Path) -> int:
    """Check that a folder holds a usable encoder with its tokenizer; return its layers.

    Raises a DataError if a file is missing or unreadable, the architecture is none of ``FAMILIES``,
    the weights have other sizes than those of ``config.json``, or the tokenizer is another one's.
    """
    if not folder.is_dir():
        problem = "this is a file" if folder.is_file() else "there is no such folder"
        raise DataError(folder, "", problem, "correct the path")
    require_encoder(folder)
    kind, sizes = _architecture(folder / "config.json")
    if not has_tokenizer(path.name for path in folder.iterdir()):
        names = " or ".join((*TOKENIZER_FILES, SENTENCEPIECE))
        raise DataError(folder, "", f"there is no {names}, the tokenizer", _FIX)
    if not (folder / "tokenizer.json").exists():
        for name in sorted(path.name for path in folder.iterdir() if has_tokenizer([path.name])):
            require_file(folder, name)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        if (folder / name).exists():
            require_file(folder, name)
            _json(folder / name)
    weights, shapes = weight_files(folder)[0], _shapes(folder)
    for other, family in FAMILIES.items():
        is_other = family.prefix not in ("model.", FAMILIES[kind].prefix)
        if is_other and any(name.startswith(family.prefix) for name in shapes):
            problem = f"the weights are of {other}, but config.json states {kind}"
            raise DataError(weights, "model_type", problem, _FIX)
    layers = {int(match[1]) for name in shapes if (match := LAYER.search(name))}
    if len(layers) != sizes["layers"]:
        problem = f"{len(layers)} layers, but config.json states {sizes['layers']}"
        raise DataError(weights, _key(_json(folder / "config.json"), LAYERS), problem, _FIX)
    expected = [sizes["vocab_size"], sizes["embedded"]]
    for name, shape in shapes.items():
        if name.endswith(_WORDS) and shape != expected:
            size, stated = (" x ".join(map(str, item)) for item in (shape, expected))
            problem = f"{size}, but config.json states {stated}"
            raise DataError(weights, name, problem, _FIX)
    if (folder / "tokenizer.json").is_file():
        check_tokenizer(folder, sizes["vocab_size"])
    return len(layers)


def has_tokenizer(names: Iterable[str]) -> bool:
    """Return whether a folder with these files has a tokenizer."""
    return any(name in TOKENIZER_FILES or fnmatch(name, SENTENCEPIECE) for name in names)


def check_tokenizer(folder: Path, vocabulary_size: int) -> None:
    """Raise a DataError if ``tokenizer.json`` is not that of an encoder with so many embeddings.

    It has more subwords, or less than half as many; or does not frame a text by two tokens.
    """
    path = folder / "tokenizer.json"
    _check_tokenizer(path, path.stat().st_mtime_ns, vocabulary_size)


@cache  # a start checks a folder several times, and large vocabularies take a second
def _check_tokenizer(path: Path, changed: int, vocabulary_size: int) -> None:
    folder, tokenizer = path.parent, open_tokenizer(path.parent)
    size = tokenizer.get_vocab_size()
    if (last := max(tokenizer.get_vocab().values(), default=0)) >= max(size, vocabulary_size):
        problem = f"the last of its {size} subwords has the number {last}"
        fix = f"number them below {vocabulary_size}, the encoder's, or restore its tokenizer"
        raise DataError(path, "vocabulary", problem, fix)
    if size > vocabulary_size:
        problem = f"it has {size} subwords, but the encoder {vocabulary_size}"
        raise DataError(path, "vocabulary", problem, "restore the encoder's tokenizer")
    if size < _FEWEST_SUBWORDS * vocabulary_size:
        problem = f"it has only {size} subwords of the encoder's {vocabulary_size}"
        fix = "restore the encoder's tokenizer, or save it with its own class of transformers"
        raise DataError(path, "vocabulary", problem, fix)
    for token in get_args(Special):
        special_id(tokenizer, token, folder)
    try:
        tokenizer.encode("\U00013000")  # a hieroglyph
    except Exception as error:  # the library raises bare Exceptions
        problem = f"it can't split unknown characters ({error})"
        raise DataError(path, "unk_token", problem, "restore the encoder's tokenizer") from error
    if tokenizer.num_special_tokens_to_add(False) != 2:
        count = tokenizer.num_special_tokens_to_add(False)
        problem = f"it adds {count} tokens to a text, not one at each end as [CLS] and [SEP]"
        fix = "take a revision whose tokenizer.json has them (post_processor)"
        raise DataError(path, "post_processor", problem, fix)


def facts_of(folder: Path) -> Facts:
    """Return what the encoder of a folder has, after the checks of :func:`check_folder`."""
    layers, names = check_folder(folder), _shapes(folder).keys()
    config = _json(folder / "config.json")
    family = FAMILIES[config["model_type"]]
    kind = "Unigram" if any(folder.glob(SENTENCEPIECE)) else "WordPiece"  # of a vocab.txt
    scripts, boundaries = None, kind == "Unigram"
    if (path := folder / "tokenizer.json").is_file():
        tokenizer = _json(path).get("model") or {}
        kind, words = str(tokenizer.get("type")), tokenizer.get("vocab") or ()
        # Unigram's are pairs of a subword and its probability.
        texts = {word if isinstance(word, str) else word[0] for word in words}
        boundaries = "▁" in texts  # converted from SentencePiece, as Unigram or as BPE
        if kind in TOKENIZERS and not tokenizer.get("byte_fallback"):
            scripts = scripts_in(set().union(*texts))
    return Facts(
        layers,
        head=bool(family.head) and family.head in names,
        pooler=family.pooler and any(name.endswith(_POOLER) for name in names),
        tokenizer=kind,
        family=config["model_type"],
        positions=positions_of(config),
        scripts=scripts,
        boundaries=boundaries,
    )


def count_weights(folder: Path) -> tuple[int, int]:
    """Return the numbers of weights of an encoder's layers and of its word embeddings."""
    counts = {name: math.prod(shape) for name, shape in _shapes(folder).items()}
    layers = sum(count for name, count in counts.items() if LAYER.search(name))
    return layers, sum(count for name, count in counts.items() if name.endswith(_WORDS))


def _architecture(path: Path) -> tuple[str, dict[str, int]]:
    """Return kind and sizes of an encoder, from its configuration."""
    config = _json(path)
    keys = {"layers": LAYERS, "hidden_size": HIDDEN, "heads": HEADS, "embedded": EMBEDDED}
    sizes: dict[str, Any] = {key: size_in(config, *names) for key, names in keys.items()}
    sizes["vocab_size"] = config.get("vocab_size")
    for key, size in sizes.items():
        if type(size) is not int or size < 1:
            name = _key(config, keys.get(key, (key,)))
            raise DataError(path, name, f"{size!r} is no positive number", _FIX)
    if sizes["hidden_size"] % sizes["heads"]:
        raise DataError(path, "hidden_size", "it is no multiple of num_attention_heads", _FIX)
    return config["model_type"], sizes


def _key(config: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return which of a size's names a configuration uses; of none the first."""
    return next((name for name in names if name in config), names[0])


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # not UTF-8 either
        raise DataError(path, "", f"not readable as JSON ({error})", _FIX) from error
    if not isinstance(content, dict):
        raise DataError(path, "", "not a mapping of keys", _FIX)
    return content


def _shapes(folder: Path) -> dict[str, list[int]]:
    """Return the shapes of the weights of an encoder, from the headers of its files."""
    shapes: dict[str, list[int]] = {}
    for path in weight_files(folder):
        try:
            with safe_open(path, "numpy") as weights:
                names = weights.keys()
                for name in names:
                    part = weights.get_slice(name)
                    if _QUANTISED.fullmatch(part.get_dtype()):
                        problem = f"quantised weights ({part.get_dtype()}) are not read"
                        raise DataError(path, name, problem, "save them as floating-point numbers")
                    shapes[name] = list(part.get_shape())
        except (OSError, SafetensorError) as error:
            problem = f"not a whole safetensors file ({error})"
            raise DataError(path, "", problem, _FIX) from error
    return shapes

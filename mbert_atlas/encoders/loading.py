"""Open and write encoder folders: ``config.json``, ``model.safetensors`` and a tokenizer."""

import logging
import os
import re
import shutil
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before transformers is imported

import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    BertForPreTraining,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    XLMRobertaForMaskedLM,
)
from transformers.utils import logging as transformers_logging

from mbert_atlas.encoders.folders import LAYER, check_tokenizer, require_encoder, require_file
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_directory

_logger = logging.getLogger(__name__)
transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # noise in log files

_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
    "sentencepiece.bpe.model",
)
_MASKED: dict[str, tuple[Any, tuple[str, ...], str]] = {
    "bert": (BertForPreTraining, ("bert.pooler.", "cls."), "cls.predictions."),
    "xlm-roberta": (XLMRobertaForMaskedLM, (), "lm_head."),
}
"""By kind of encoder: its class with a language-model head, prefixes of weights that may be
missing, and the prefix of the head's."""


def load_encoder(folder: Path | str) -> PreTrainedModel:
    """Open the encoder of a folder in fp32, without its language-modelling heads.

    A pooler that the folder lacks is initialised from a fixed seed. Raises a DataError if a file is
    missing or damaged, the weights are pickled, not finite, or of another architecture or size than
    the configuration, or the tokenizer has more subwords than the encoder.
    """
    model, absent = _load(AutoModel, Path(folder), 0, ("pooler.",))
    if absent:
        _logger.warning("%s has no pooler; untrained, it transforms the state of [CLS].", folder)
    return model


def load_masked_model(folder: Path | str, seed: int | None = None) -> PreTrainedModel:
    """Open a BERT or XLM-R in fp32 with its language-model head, to pretrain it further.

    A head (and a pooler) that the folder lacks is initialised from the seed; without a seed that is
    a DataError for the head. Raises a DataError as :func:`load_encoder`, or for other kinds of
    encoders.
    """
    require_encoder(Path(folder))
    model_type = AutoConfig.from_pretrained(folder, local_files_only=True).model_type
    if model_type not in _MASKED:
        problem = f"{model_type!r} cannot be pretrained further here"
        fix = f"take one of {', '.join(_MASKED)}"
        raise DataError(Path(folder) / "config.json", "key model_type", problem, fix)
    kind, dispensable, head = _MASKED[model_type]
    model, absent = _load(kind, Path(folder), seed or 0, (head, *dispensable))
    if any(key.startswith(head) for key in absent):
        if seed is None:
            problem = "the encoder has no language-model head, so that its predictions mean nothing"
            fix = "write `language_model_head: fitted` in its section of the config"
            raise DataError(Path(folder), "model.safetensors", problem, fix)
        _logger.info("%s has no language-model head; it starts from the seed.", folder)
    return model


def _load(
    kind: Any, folder: Path, seed: int, dispensable: tuple[str, ...]
) -> tuple[PreTrainedModel, list[str]]:
    """Open the model of a folder; also return the names of weights that the folder lacks."""
    require_encoder(folder)
    loader = logging.getLogger("transformers")
    level = loader.level
    loader.setLevel(logging.ERROR)  # unused language-modelling heads are expected
    try:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model, report = kind.from_pretrained(
                folder,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # they are named below
                attn_implementation=_attention(kind, folder),
                dtype=torch.float32,
            )
    except Exception as error:  # any: a model is built of whatever config.json states
        reason = (str(error).splitlines() or [""])[0]
        problem = f"it cannot be opened ({type(error).__name__}: {reason})"
        fix = "config.json and model.safetensors have to be whole and of one encoder; get it again"
        raise DataError(folder, "", problem, fix) from error
    finally:
        loader.setLevel(level)
    for name, *sizes in sorted(report["mismatched_keys"]):
        stored, expected = (" x ".join(map(str, size)) for size in sizes)
        problem = f"{stored}, but by config.json {expected}"
        fix = "both have to be of one encoder; get it again"
        raise DataError(folder / "model.safetensors", f"weight {name}", problem, fix)
    absent = sorted(report["missing_keys"])
    missing = [key for key in absent if not key.startswith(dispensable)]
    if missing:
        more = f", and so are {len(missing) - 1} more of them" if len(missing) > 1 else ""
        problem = f"config.json needs it, and it is missing{more}"
        fix = "fetch or train the model again"
        raise DataError(folder / "model.safetensors", f"weight {missing[0]}", problem, fix)
    _check_weights(model, sorted(report["unexpected_keys"]), folder)
    return model, absent


def _attention(kind: Any, folder: Path) -> str:
    """Return PyTorch's fused attention where the encoder has it, else transformers' own."""
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    mapping = getattr(kind, "_model_mapping", None)
    model = kind if mapping is None else mapping[type(config)]
    return "sdpa" if model._supports_sdpa else "eager"


def _check_weights(model: PreTrainedModel, unused: list[str], folder: Path) -> None:
    """Raise a DataError for a model that was opened but is no usable encoder."""
    # Heads are left unused on purpose, layers never are.
    layers = [key for key in unused if re.search(LAYER, key)]
    if layers:
        problem = f"model.safetensors has more layers, such as {layers[0]}"
        fix = "correct it or restore the encoder's config.json"
        raise DataError(folder / "config.json", "key num_hidden_layers", problem, fix)
    for name, weight in model.named_parameters():
        # In blocks, as the check takes as much memory again as what it looks at.
        if not all(torch.isfinite(block).all() for block in weight.chunk(64)):
            problem = "not all of its numbers are finite (NaN or infinity)"
            fix = "fetch the model again or train it with a lower learning rate"
            raise DataError(folder / "model.safetensors", f"weight {name}", problem, fix)
    if (folder / "tokenizer.json").is_file():
        check_tokenizer(folder, model.config.vocab_size)


def load_tokenizer(folder: Path | str) -> PreTrainedTokenizerBase:
    """Open the fast tokenizer of a folder; raise a DataError if it lacks ``tokenizer.json``."""
    require_file(Path(folder), "tokenizer.json")
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False
    )
    return tokenizer


def save_encoder(model: PreTrainedModel, tokenizer_dir: Path | str, folder: Path | str) -> None:
    """Write an encoder folder, atomically: the model's weights and the tokenizer's files."""
    with atomic_directory(folder) as temporary:
        write_encoder(model, tokenizer_dir, temporary)


def write_encoder(model: PreTrainedModel, tokenizer_dir: Path | str, folder: Path) -> None:
    """Write a model's weights and configuration and a tokenizer's files into a folder."""
    model.save_pretrained(folder)
    copy_tokenizer(Path(tokenizer_dir), folder)


def copy_tokenizer(source: Path, target: Path) -> None:
    """Copy the files of a tokenizer, as far as they exist."""
    for name in _TOKENIZER_FILES:
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)

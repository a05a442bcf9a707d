"""Tokenizers in the one form that is read here, ``tokenizer.json``, made once from others."""

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before transformers is imported

from sentencepiece import SentencePieceProcessor
from transformers import AutoTokenizer

from mbert_atlas.encoders.folders import (
    SENTENCEPIECE,
    check_tokenizer,
    has_tokenizer,
    require_encoder,
)
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_directory, read_json, read_text

_logger = logging.getLogger(__name__)
_CAPITAL = re.compile(r"^(?!\[).*[A-ZÀ-ÖØ-ÞА-ЯΑ-Ω]", re.MULTILINE)


def convert_encoder(source: Path, output: Path) -> None:
    """Write an encoder folder with ``tokenizer.json`` and links to the other files of another one.

    Raises a DataError as :func:`write_tokenizer`.
    """
    require_encoder(source)
    with atomic_directory(output) as folder:
        link_files(source, folder)
        with errors_of(source, folder):
            write_tokenizer(folder)


@contextmanager
def errors_of(source: Path, copy: Path) -> Iterator[None]:
    """Let a DataError about a file of a copy name that of the source, or what it was made from."""
    try:
        yield
    except DataError as error:
        name = Path(error.path).relative_to(copy)
        if not (source / name).exists():
            name = Path(min(path.name for path in source.iterdir() if has_tokenizer([path.name])))
        raise DataError(source / name, error.where, error.problem, error.fix) from error


def link_files(source: Path, folder: Path) -> None:
    """Fill a folder with links to the files of another one."""
    for path in source.iterdir():
        if path.is_file() and not path.name.startswith("."):
            (folder / path.name).symlink_to(path.resolve())


def write_tokenizer(folder: Path) -> None:
    """Write ``tokenizer.json`` into an encoder folder that has another form of it.

    ``vocab.txt``, ``vocab.json`` with ``merges.txt`` and SentencePiece's models are converted by
    transformers. A ``vocab.txt`` whose config does not state it is lower-cased only if it has no
    capital letter: transformers would lower-case them all.

    Raises a DataError if the tokenizer can't be opened or is not that of the encoder.
    """
    options: dict[str, Any] = {}
    settings = folder / "tokenizer_config.json"
    stated = read_json(settings) if settings.is_file() else {}
    if (words := folder / "vocab.txt").is_file() and "do_lower_case" not in stated:
        options["do_lower_case"] = not _CAPITAL.search(read_text(words))
        _logger.info("%s: do_lower_case: %s, by its letters", words, options["do_lower_case"])
    for path in sorted(folder.glob(SENTENCEPIECE)):
        try:
            SentencePieceProcessor(model_file=str(path))
        except RuntimeError as error:  # transformers would take it for one of tiktoken's
            fix = "get the encoder's tokenizer again"
            raise DataError(path, "", "not a SentencePiece model", fix) from error
    fix = "save it as tokenizer.json with its own class of transformers (save_pretrained)"
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, **options
        )
        tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    except Exception as error:  # any: the tokenizers library raises bare Exceptions
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(folder, "", f"its tokenizer can't be opened ({reason})", fix) from error
    size = read_json(folder / "config.json").get("vocab_size")
    if isinstance(size, int):
        check_tokenizer(folder, size)
    _logger.info("%s: tokenizer.json was made by %s", folder, type(tokenizer).__name__)

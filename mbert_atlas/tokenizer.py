"""The tokenizer of an encoder folder: ``tokenizer.json``, opened without torch or transformers."""

from pathlib import Path
from typing import Literal

from tokenizers import Tokenizer

from mbert_atlas.errors import DataError
from mbert_atlas.files import sha256_of

Special = Literal["[UNK]", "[PAD]", "[CLS]", "[SEP]"]
_XLM_R: dict[Special, str] = {"[UNK]": "<unk>", "[PAD]": "<pad>", "[CLS]": "<s>", "[SEP]": "</s>"}


def open_tokenizer(folder: Path | str) -> Tokenizer:
    """Open the tokenizer of a folder, without truncation or padding.

    Settings that transformers takes from ``tokenizer_config.json``, as lower-casing, do not count.

    Raises DataError if ``tokenizer.json`` is missing or unreadable.
    """
    path = _file(folder)
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exceptions
        fix = "fetch or train the encoder again"
        raise DataError(path, "", f"not a tokenizer ({error})", fix) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def special_id(tokenizer: Tokenizer, token: Special, folder: Path | str) -> int:
    """Return the id of a special token of BERT, or of its counterpart in XLM-R.

    Raises DataError if the tokenizer of ``folder`` has neither.
    """
    for name in (token, _XLM_R[token]):
        if (number := tokenizer.token_to_id(name)) is not None:
            return int(number)
    problem = f"has neither {token} nor {_XLM_R[token]}"
    fix = "use the tokenizer of a BERT or XLM-R encoder"
    raise DataError(_file(folder), "vocabulary", problem, fix)


def tokenizer_digest(folder: Path | str) -> str:
    """Return the SHA-256 of ``tokenizer.json``; raise DataError if it is missing."""
    return sha256_of(_file(folder))


def require_tokenizer(store: Path, digest: str | None, folder: Path) -> None:
    """Raise a DataError if a token store with ``digest`` was made with another tokenizer."""
    if digest != tokenizer_digest(folder):
        problem = f"this was not made with the tokenizer of {folder}"
        fix = "make it again with the tokenizer of this encoder"
        raise DataError(store, "meta.json", problem, fix)


def _file(folder: Path | str) -> Path:
    path = Path(folder) / "tokenizer.json"
    if not path.is_file():
        fix = "fetch or train the encoder again or correct the path"
        raise DataError(path, "", "no such file", fix)
    return path

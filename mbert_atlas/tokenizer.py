"""The tokenizer of an encoder folder: ``tokenizer.json``, opened without torch or transformers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tokenizers import Tokenizer

from mbert_atlas.errors import DataError
from mbert_atlas.files import sha256_of

_PROBES = [text.split() for text in ("a house", "a a a", "дом и сад", "家 家", "x Y 1")]
"""Texts of words with a space between them."""
Special = Literal["[UNK]", "[PAD]", "[CLS]", "[SEP]"]
_OTHERS: dict[Special, tuple[str, ...]] = {
    "[UNK]": ("<unk>",),
    "[PAD]": ("<pad>",),
    "[CLS]": ("<s>", "<bos>"),
    "[SEP]": ("</s>", "<eos>"),
}
"""Their counterparts in XLM-R, and in mmBERT, which has Gemma's."""


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


def prefixed(sentences: Sequence[Sequence[str]], prefix: str) -> Sequence[Sequence[str]]:
    """Return sentences of words with the prefix of :func:`word_prefix` at all but the first."""
    if not prefix:
        return sentences
    return [[*words[:1], *(prefix + word for word in words[1:])] for words in sentences]


def word_prefix(tokenizer: Tokenizer, folder: Path | str) -> str:
    """Return what to put in front of each word but the first, so that it is split as in a text.

    Nothing for WordPiece and XLM-R's; a space for tokenizers whose subwords include the space
    before a word, such as byte-level ones: given words, these leave it out.

    Raises DataError if neither gives the subwords of the text.
    """
    for prefix in ("", " "):
        if all(
            tokenizer.encode(prefixed([words], prefix)[0], is_pretokenized=True).ids
            == tokenizer.encode(" ".join(words)).ids
            for words in _PROBES
        ):
            return prefix
    problem = "it splits words in a list differently from the same words in a text"
    fix = "take an encoder whose tokenizer marks where words begin, or continue"
    raise DataError(Path(folder) / "tokenizer.json", "pre_tokenizer", problem, fix)


def special_id(tokenizer: Tokenizer, token: Special, folder: Path | str) -> int:
    """Return the id of a special token of BERT, or of its counterpart in XLM-R or mmBERT.

    Raises DataError if the tokenizer of ``folder`` has none.
    """
    for name in (token, *_OTHERS[token]):
        if (number := tokenizer.token_to_id(name)) is not None:
            return int(number)
    problem = f"has neither {' nor '.join([token, *_OTHERS[token]])}"
    fix = "use the tokenizer of an encoder with these special tokens"
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

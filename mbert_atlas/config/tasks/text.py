"""Running texts: nothing is learned from them, they are encoded for their vectors."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mbert_atlas.config.encodings import Encoding


class TextEncoding(Encoding):
    """How running texts become token ids."""

    transfer = False

    task: Literal["text"] = Field(description="Texts without labels, for their vectors.")
    repeat_specials: bool = Field(
        False,
        description="[CLS] and [SEP] twice, the inner ones as part of the text (Muller et al. "
        "2021, code).",
    )

"""Extractive question answering."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mbert_atlas.config.encodings import ExampleEncoding


class QAEncoding(ExampleEncoding):
    """How questions with their contexts become windows of token ids."""

    corpus = "qa"

    task: Literal["qa"] = Field(description="Extractive question answering.")
    doc_stride: int = Field(
        128, ge=1, description="Subwords by which windows overlap (or advance)."
    )
    stride_is: Literal["overlap", "step"] = Field(
        "overlap", description="Whether windows overlap or advance by `doc_stride`."
    )

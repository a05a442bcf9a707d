"""The dataset card: what a Parquet file holds, where it came from and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from mbert_atlas import __version__
from mbert_atlas.files import sha256_of, write_json

Source = Mapping[str, str] | Sequence[Mapping[str, str]] | None


class SourceFile(BaseModel):
    """One upstream file."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    path: str = Field(description="where the file was read")
    sha256: str = Field(description="its SHA-256 when it was read")


class DatasetCard(BaseModel):
    """What a reader must know about a dataset before using its numbers."""

    model_config = ConfigDict(extra="forbid")
    dataset: str = Field(description="name of the upstream dataset")
    language: str = Field(description="language code; several are joined by spaces")
    source_files: list[SourceFile]
    licence: str = Field(description="licence of the upstream dataset")
    citation: str = Field(description="how to cite the upstream dataset")
    counts: dict[str, int] = Field(description="what was read and what was kept")
    dropped: dict[str, int] = Field(description="items left out, by reason")
    notes: list[str] = Field(default_factory=list, description="choices that a reader should know")
    created_by: str = Field(description="program and version")


def write_card(
    card: Path | str,
    *,
    dataset: str,
    language: str,
    files: Iterable[Path | str],
    counts: Mapping[str, int],
    dropped: Mapping[str, int],
    source: Source = None,
    notes: Iterable[str] = (),
    tool: str = "",
) -> DatasetCard:
    """Write a dataset card as JSON and return it.

    Args:
        card: path of the JSON file.
        dataset: name of the dataset where ``source`` has none.
        language: language code(s).
        files: upstream files that were read; their checksums are taken here.
        counts: items by kind.
        dropped: items left out, by reason; reasons with nothing left out are not written.
        source: ``dataset``, ``licence`` and ``citation`` as the source register states them; one
            mapping, or one for each source of a mixed dataset.
        notes: choices that a reader should know.
        tool: a program that did the work besides this package, with its version.
    """
    stated = [source] if isinstance(source, Mapping) else list(source or [])

    def joined(key: str, otherwise: str) -> str:
        return "; ".join(dict.fromkeys(one[key] for one in stated if one.get(key))) or otherwise

    created_by = f"mbert-atlas {__version__}" + (f", {tool}" if tool else "")
    written = DatasetCard(
        dataset=joined("dataset", dataset),
        language=language,
        source_files=[SourceFile(path=str(path), sha256=sha256_of(path)) for path in files],
        licence=joined("licence", "not stated"),
        citation=joined("citation", "not stated"),
        counts=dict(counts),
        dropped={reason: number for reason, number in dropped.items() if number},
        notes=list(notes),
        created_by=created_by,
    )
    write_json(written.model_dump(), card)
    return written

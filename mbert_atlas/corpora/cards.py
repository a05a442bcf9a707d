"""The dataset card: what a Parquet file holds, where it came from and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mbert_atlas import __version__
from mbert_atlas.corpora.bad_rows import BadRows
from mbert_atlas.files import sha256_of, write_json

Source = Mapping[str, str] | Sequence[Mapping[str, str]] | None


def write_card(
    card: Path | str,
    *,
    dataset: str,
    language: str,
    files: Iterable[Path | str],
    counts: Mapping[str, int],
    dropped: Mapping[str, int],
    bad: BadRows | None = None,
    source: Source = None,
    notes: Iterable[str] = (),
    tool: str = "",
) -> None:
    """Write a dataset card as JSON: what a reader must know before using its numbers.

    Args:
        card: path of the JSON file.
        dataset: name of the dataset where ``source`` has none.
        language: language code(s).
        files: upstream files that were read; their checksums are taken here.
        counts: items by kind.
        dropped: items left out, by reason; reasons with nothing left out are not written.
        bad: rows left out since they cannot be used; the first few are listed.
        source: ``dataset``, ``licence`` and ``citation`` as the source register states them; one
            mapping, or one for each source of a mixed dataset.
        notes: choices that a reader should know.
        tool: a program that did the work besides this package, with its version.
    """
    stated = [source] if isinstance(source, Mapping) else list(source or [])

    def joined(key: str, otherwise: str) -> str:
        return "; ".join(dict.fromkeys(one[key] for one in stated if one.get(key))) or otherwise

    left_out = {**dropped, **(bad.reasons if bad else {})}
    content = {
        "dataset": joined("dataset", dataset),
        "language": language,
        "source_files": [{"path": str(path), "sha256": sha256_of(path)} for path in files],
        "licence": joined("licence", "not stated"),
        "citation": joined("citation", "not stated"),
        "counts": dict(counts),
        "dropped": {reason: number for reason, number in left_out.items() if number},
        "first_bad_rows": bad.first if bad else [],
        "notes": list(notes),
        "created_by": f"mbert-atlas {__version__}" + (f", {tool}" if tool else ""),
    }
    write_json(content, card)

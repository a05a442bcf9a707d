"""The dataset card: what a Parquet file holds, where it came from and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mbert_atlas import __version__
from mbert_atlas.corpora.bad_rows import BadRows
from mbert_atlas.files import read_json, sha256_of, write_json

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
        source: ``dataset``, ``licence`` and ``citation`` as the source register states them, and
            ``read_from``, what was really read; one mapping, or one for each file.
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
        "read_from": list(dict.fromkeys(one["read_from"] for one in stated if "read_from" in one)),
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


def corpora_read(folder: Path | str) -> dict[str, str]:
    """Return what the datasets of a run were read from, by name of the dataset.

    Args:
        folder: the run's ``data``, with cards of datasets and, below, of single languages.
    """
    found: dict[str, dict[str, None]] = {}
    for path in sorted(Path(folder).rglob("*.card.json")):
        content = read_json(path)
        name = path.relative_to(folder).parts[0].removesuffix(".card.json")
        for card in [content] if "source_files" in content else content.values():
            stated = found.setdefault(name, {})
            stated.update(dict.fromkeys([f"{card['dataset']} ({card['licence']})"]))
            stated.update(dict.fromkeys(card.get("read_from", ())))
    return {name: "; ".join(stated) for name, stated in found.items()}

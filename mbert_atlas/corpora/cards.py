"""The dataset card: what a Parquet file holds, where it came from and what was left out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mbert_atlas import __version__
from mbert_atlas.corpora.bad_rows import BadRows
from mbert_atlas.files import read_json, sha256_of, write_json

Origins = Sequence[Mapping[str, str]]


@dataclass
class Card:
    """What a reader of a dataset must know before using its numbers; filled while it is read."""

    dataset: str  # its name where its origins state none
    language: str
    counts: Counter[str] = field(default_factory=Counter)  # items by kind
    dropped: Counter[str] = field(default_factory=Counter)  # items left out, by reason
    bad: BadRows = field(default_factory=lambda: BadRows("rows"))  # the first few are listed
    notes: list[str] = field(default_factory=list)
    tool: str = ""  # a program that did the work besides this package, with its version

    def content(self, files: Iterable[Path | str], origins: Origins = ()) -> dict[str, Any]:
        """Return the card as JSON, with the checksums of the ``files`` that were read.

        ``origins`` are of each upstream file what the register of sources states (``dataset``,
        ``licence``, ``citation``) and what was really read (``read_from``).
        """

        def joined(key: str, default: str) -> str:
            return "; ".join(dict.fromkeys(one[key] for one in origins if one.get(key))) or default

        left_out = self.dropped + self.bad.reasons
        return {
            "dataset": joined("dataset", self.dataset),
            "language": self.language,
            "read_from": list(dict.fromkeys(o["read_from"] for o in origins if "read_from" in o)),
            "source_files": [
                {"path": path, "sha256": sha256_of(path)} for path in dict.fromkeys(map(str, files))
            ],
            "licence": joined("licence", "not stated"),
            "citation": joined("citation", "not stated"),
            "counts": dict(self.counts),
            "dropped": {reason: number for reason, number in left_out.items() if number},
            "first_bad_rows": self.bad.first,
            "notes": self.notes,
            "created_by": f"mbert-atlas {__version__}" + (f", {self.tool}" if self.tool else ""),
        }

    def write(self, path: Path | str, files: Iterable[Path | str], origins: Origins = ()) -> None:
        """Write :meth:`content` to a JSON file."""
        write_json(self.content(files, origins), path)


def corpora_read(folder: Path | str) -> dict[str, str]:
    """Return what datasets were read from, by name, from the cards in a run's folder ``data``."""
    corpora: dict[str, dict[str, None]] = {}
    for path in sorted(Path(folder).rglob("*.card.json")):
        name = path.relative_to(folder).parts[0].removesuffix(".card.json")
        corpora.setdefault(name, {}).update(dict.fromkeys(read_origins(path)))
    return {name: "; ".join(stated) for name, stated in corpora.items()}


def read_origins(path: Path) -> list[str]:
    """Return the corpora of a dataset with licences, and what was read, by the file of its card."""
    content, stated = read_json(path), dict[str, None]()
    for card in [content] if "source_files" in content else content.values():
        licence = card["licence"].replace("not stated", "licence not stated")
        stated.update(dict.fromkeys([f"{card['dataset']} ({licence})"]))
        stated.update(dict.fromkeys(card.get("read_from", ())))
    return list(stated)

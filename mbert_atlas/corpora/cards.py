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
    bad: BadRows = field(default_factory=lambda: BadRows("rows"))
    notes: list[str] = field(default_factory=list)
    tool: str = ""  # a program that did the work besides this package, with its version

    def content(self, files: Iterable[Path | str], origins: Origins = ()) -> dict[str, Any]:
        """Return the card as JSON, with the checksums of the ``files`` that were read.

        ``origins``: of each upstream file, what the register of sources states (``dataset``,
        ``licence``, ``citation``) and what was really read (``read_from``).
        """

        def stated(key: str) -> list[str]:
            return list(dict.fromkeys(one[key] for one in origins if one.get(key)))

        return {
            "dataset": "; ".join(stated("dataset")) or self.dataset,
            "language": self.language,
            "read_from": stated("read_from"),
            "source_files": [
                {"path": path, "sha256": sha256_of(path)} for path in dict.fromkeys(map(str, files))
            ],
            "licence": "; ".join(stated("licence")) or "not stated",
            "citation": "; ".join(stated("citation")) or "not stated",
            "counts": dict(self.counts),
            "dropped": dict(self.dropped + self.bad.reasons),
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
        content = read_json(path)
        stated = corpora.setdefault(
            path.relative_to(folder).parts[0].removesuffix(".card.json"), {}
        )
        for card in [content] if "source_files" in content else content.values():
            said = [f"{card['dataset']} ({card['licence']})", *card.get("read_from", ())]
            stated.update(dict.fromkeys(said))
    return {name: "; ".join(stated) for name, stated in corpora.items()}

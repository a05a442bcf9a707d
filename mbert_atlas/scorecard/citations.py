"""BibTeX of the papers and of this software, from the repository's ``CITATION.cff``."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from mbert_atlas import __version__
from mbert_atlas.files import read_text

SOFTWARE = "mbert-atlas"
_SHORT_NAME = re.compile(r"Short name (\w+)")
_TYPES = {"conference-paper": "inproceedings", "article": "article"}


def read_citations(path: Path) -> dict[str, str]:
    """Return a BibTeX entry by the short name of each paper, and one of the software.

    The note of a reference states the paper's short name.
    """
    content = yaml.safe_load(read_text(path))
    entries = {}
    for item in content["references"]:
        name = short_name(item)
        entries[name] = _entry(_TYPES.get(item["type"], "misc"), name, item)
    software = content | {"year": str(content["date-released"])[:4], "version": __version__}
    return entries | {SOFTWARE: _entry("software", SOFTWARE, software)}


def short_name(reference: Mapping[str, Any]) -> str:
    """Return the short name of a paper, which the note of a reference states; else the title."""
    match = _SHORT_NAME.search(reference.get("notes", ""))
    return match[1] if match else str(reference["title"])


def _entry(kind: str, key: str, item: Mapping[str, Any]) -> str:
    authors = [
        f"{one['family-names']}, {one['given-names']}"
        if "given-names" in one
        else f"{{{one['name']}}}"
        for one in item["authors"]
    ]
    fields = {
        "title": f"{{{item['title']}}}",
        "author": " and ".join(authors),
        "booktitle": item.get("collection-title"),
        "journal": item.get("journal"),
        "publisher": item.get("publisher", {}).get("name"),
        "year": item.get("year"),
        "pages": f"{item['start']}--{item['end']}" if "start" in item else None,
        "doi": item.get("doi"),
        "url": item.get("repository-code") or item.get("url"),
        "version": item.get("version"),
    }
    lines = [f"  {name:<9} = {{{text}}}" for name, text in fields.items() if text]
    return f"@{kind}{{{key},\n" + ",\n".join(lines) + "\n}"

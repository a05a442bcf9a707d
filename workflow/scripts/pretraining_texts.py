"""The texts of a pretraining corpus by language, read lazily."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path


def texts_by_language(paths: Iterable[str]) -> dict[str, Iterator[str]]:
    """Map each language to an iterator over the texts of its Parquet files."""
    from mbert_atlas.corpora.plain_text import iter_texts

    files: dict[str, list[Path]] = {}
    for path in map(Path, paths):
        files.setdefault(path.stem, []).append(path)
    return {
        language: chain.from_iterable(iter_texts(path, "paragraphs") for path in listed)
        for language, listed in files.items()
    }

"""The texts of a pretraining corpus, language by language, read as they are needed."""

from itertools import chain
from pathlib import Path


def texts_by_language(paths):
    """Map each language to an iterator over the texts of its Parquet files."""
    from mbert_atlas.corpora.plain_text import iter_texts

    files = {}
    for path in map(Path, paths):
        files.setdefault(path.stem, []).append(path)
    return {
        language: chain.from_iterable(iter_texts(path, "paragraphs") for path in found)
        for language, found in files.items()
    }

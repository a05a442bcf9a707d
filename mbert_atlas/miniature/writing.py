"""Synthetic data as a mirror of every upstream source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from mbert_atlas.config.miniature import MiniatureSizes
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_directory, sha256_of
from mbert_atlas.miniature import formats, labelled, questions, texts
from mbert_atlas.miniature.generator import Files, Generator
from mbert_atlas.miniature.language import miniature_language

_GENERATOR = "mbert_atlas.miniature"
_SOURCES: tuple[tuple[Callable[[Generator], Files], tuple[str, ...]], ...] = (
    (texts.encyclopedias, ("wikipedia",)),
    (texts.plain_texts, ("cc100",)),
    (texts.bitexts, ("wikimatrix", "opus-wikimatrix", "gold-alignments")),
    (texts.tatoeba, ("tatoeba-laser",)),
    (texts.references, ("muse", "wals")),
    (texts.treebanks, ("universal-dependencies",)),
    (labelled.multinli, ("multinli",)),
    (labelled.xnli, ("xnli",)),
    (labelled.wikiann, ("wikiann",)),
    (questions.squad, ("squad", "mlqa")),
    (questions.xquad, ("xquad",)),
    (questions.mlqa, ("mlqa",)),
    (questions.tydiqa, ("tydiqa",)),
)
"""What yields files, and the folders that they are in."""


def write_miniature(
    destination: Path,
    languages: Sequence[str],
    seed: int,
    sizes: MiniatureSizes,
    only: Collection[str] | None = None,
    lending: Collection[str] | None = None,
) -> None:
    """Write synthetic data in every upstream format, as a mirror folder.

    Args:
        destination: the folder; older synthetic data there is replaced as a whole.
        languages: codes; English is always among them, because training data are English.
        seed: the same seed gives the same bytes.
        sizes: how much of each corpus.
        only: the sources to write, by the name of their folder; None: all.
        lending: languages whose words are mixed into running texts; None: all that are written.

    Raises:
        DataError: if a language is unknown or ``destination`` holds anything else.
    """
    destination = Path(destination)
    chosen = [miniature_language(code) for code in dict.fromkeys(["en", *languages])]
    lenders = [miniature_language(code) for code in dict.fromkeys(["en", *(lending or languages)])]
    text_languages = [language for language in chosen if language.code in languages]
    if destination.exists() and not _replaceable(destination):
        problem = "the folder holds files that are not synthetic data"
        raise DataError(destination, "", problem, "name another folder or empty it")
    data = Generator(chosen, lenders, text_languages, seed, sizes)
    with atomic_directory(destination) as folder:
        for source, folders in _SOURCES:
            if only is None or set(folders) & set(only):
                for name, content in source(data):
                    formats.write(folder / name, content)
        rows = ["path\tbytes\tsha256\tdataset\tsource\tcommit\tlicence\tnote"]
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = path.relative_to(folder).as_posix()
            row = (name, str(path.stat().st_size), sha256_of(path), name.split("/")[0])
            rows.append("\t".join((*row, f"{_GENERATOR}, seed {seed}", "", "Apache-2.0", "")))
        formats.write(folder / "MANIFEST.tsv", formats.lines(rows))


def _replaceable(destination: Path) -> bool:
    manifest = destination / "MANIFEST.tsv"
    if manifest.is_file():
        return _GENERATOR in manifest.read_text(encoding="utf-8")
    # Workflow managers make the folders of their outputs beforehand.
    return destination.is_dir() and not any(path.is_file() for path in destination.rglob("*"))

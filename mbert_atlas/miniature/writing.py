"""Synthetic data as a mirror of every upstream source."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from mbert_atlas.config.miniature import MiniatureSizes
from mbert_atlas.files import atomic_directory, sha256_of
from mbert_atlas.miniature import questions, texts
from mbert_atlas.miniature.generator import Content, Files, Generator
from mbert_atlas.miniature.sentences import lines

# What yields files, and the folders that they are in.
_SOURCES: tuple[tuple[Callable[[Generator], Files], tuple[str, ...]], ...] = (
    (texts.encyclopedias, ("wikipedia",)),
    (texts.plain_texts, ("cc100",)),
    (texts.bitexts, ("wikimatrix", "gold-alignments")),
    (texts.references, ("muse", "wals")),
    (texts.treebanks, ("universal-dependencies",)),
    (texts.multinli, ("multinli",)),
    (texts.xnli, ("xnli",)),
    (texts.wikiann, ("wikiann",)),
    (questions.squad, ("squad", "mlqa")),
    (questions.xquad, ("xquad",)),
    (questions.mlqa, ("mlqa",)),
    (questions.tydiqa, ("tydiqa",)),
)
_EPOCH = (2020, 4, 20, 12, 0, 0)
_EPOCH_SECONDS = 1_587_384_000  # the same moment in UTC


def write_miniature(
    destination: Path,
    languages: Sequence[str],
    seed: int,
    sizes: MiniatureSizes,
    only: Collection[str] | None = None,
    lending: Collection[str] | None = None,
) -> None:
    """Write synthetic data in every upstream format as a mirror folder, which is replaced.

    ``languages`` are codes; English is always among them, because training data are English. The
    same ``seed`` gives the same bytes. ``only`` are the sources to write, by the name of their
    folder (None: all), ``lending`` the languages whose words are mixed into running texts (None:
    all that are written).
    """
    data = Generator.of(languages, lending or languages, seed, sizes)
    rows = ["path\tbytes\tsha256\tdataset\tsource\tcommit\tlicence\tnote"]
    with atomic_directory(destination) as folder:
        for source, folders in _SOURCES:
            if only is None or set(folders) & set(only):
                for name, content in source(data):
                    path = folder / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(_packed(name, content))
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = path.relative_to(folder).as_posix()
            row = (name, str(path.stat().st_size), sha256_of(path), name.split("/")[0])
            stated = (f"mbert_atlas.miniature, seed {seed}", "", "Apache-2.0", "")
            rows.append("\t".join((*row, *stated)))
        (folder / "MANIFEST.tsv").write_text(lines(rows), encoding="utf-8")


def written_names(languages: Sequence[str]) -> frozenset[str]:
    """Return the names of the files that :func:`write_miniature` writes for some languages."""
    # Below the smallest sizes, which copying does not check: names need nothing drawn.
    nothing = MiniatureSizes().model_copy(update=dict.fromkeys(MiniatureSizes.model_fields, 0))
    data = Generator.of(languages, languages, 1, nothing)
    return frozenset(name for source, _ in _SOURCES for name, _ in source(data))


def _packed(name: str, content: Content) -> bytes:
    """Return a file as its suffix says; the bytes depend on nothing but the content."""
    if isinstance(content, str):
        packed = content.encode()
        if name.endswith(".gz"):
            return gzip.compress(packed, mtime=0)  # without name and time of writing
        if name.endswith(".bz2"):
            return bz2.compress(packed)
        return lzma.compress(packed, preset=1) if name.endswith(".xz") else packed
    buffer, members = io.BytesIO(), {key: _packed(key, item) for key, item in content.items()}
    if name.endswith(".zip"):
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for key, item in members.items():
                zipped = zipfile.ZipInfo(key, _EPOCH)
                zipped.compress_type = zipfile.ZIP_DEFLATED
                zipped.external_attr = 0o644 << 16
                archive.writestr(zipped, item)
        return buffer.getvalue()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for key, item in members.items():
            member = tarfile.TarInfo(key)
            member.size, member.mtime = len(item), _EPOCH_SECONDS
            tar.addfile(member, io.BytesIO(item))
    return gzip.compress(buffer.getvalue(), mtime=0)

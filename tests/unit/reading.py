"""Reading and deriving datasets in tests: jobs of one language, whose table and card come back."""

import io
import os
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mbert_atlas.corpora.jobs import CorpusFile, DerivingJob, ReadingJob, Upstream
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import read_json
from mbert_atlas.languages import Language, Languages

LANGUAGES = Languages.read(Path(__file__).parents[2] / "resources/languages.csv")
MIRROR = os.environ.get("MBERT_ATLAS_MIRROR")
needs_mirror = pytest.mark.skipif(not MIRROR, reason="MBERT_ATLAS_MIRROR is not set")
OPTIONS = {"split": "test", "limit": None, "sample_seed": None, "questions": "same", "seed": 1}


def mirrored(pattern: str) -> Path:
    """The file of the mirror that fits a pattern."""
    (path,) = Path(str(MIRROR)).glob(pattern)
    return path


def language(code: str, script: str = "") -> Language:
    """A language whose texts may be in any script, or in these."""
    return LANGUAGES["en"].model_copy(update={"code": code, "ud_code": code, "script": script})


def tar_gzip(members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


def read_table(
    read: Callable[[ReadingJob], None],
    files: Path | CorpusFile | Sequence[CorpusFile],
    code: str = "en",
    *,
    format: str = "",
    partners: Sequence[Path] = (),
    script: str = "",
    folder: Path | None = None,
    **options: Any,
) -> tuple[pa.Table, Any]:
    """Table and card of one language; nothing may be left behind if it fails."""
    if isinstance(files, Path):
        files = CorpusFile(files, format, partners)
    files = [files] if isinstance(files, CorpusFile) else files
    folder = folder or files[0].path.parent
    output, card = folder / "o.parquet", folder / "o.card.json"
    for path in (output, card):
        path.unlink(missing_ok=True)
    try:
        read(ReadingJob([Upstream(language(code, script), files)], OPTIONS | options, output, card))
    except AtlasError:
        assert not output.exists()
        assert not card.exists()
        raise
    content = read_json(card)
    return pq.read_table(output), content.get(code, content)


def derive_table(
    derive: Callable[[DerivingJob], None],
    tables: Sequence[Path],
    tokenizer: Path | None = None,
    **options: Any,
) -> tuple[pa.Table, Any]:
    """Table and card of a dataset that is derived from these."""
    output, card = tables[0].parent / "derived.parquet", tables[0].parent / "derived.card.json"
    output.unlink(missing_ok=True)
    try:
        derive(DerivingJob(tables, tokenizer, OPTIONS | options, output, card))
    except AtlasError:
        assert not output.exists()
        raise
    return pq.read_table(output), read_json(card)

"""Whether bitexts hold as many sentence pairs as requested runs need, before any job starts."""

import bz2
import gzip
import lzma
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from mbert_atlas.errors import DataError, joined
from mbert_atlas.files import DAMAGE
from mbert_atlas.plan.behind import files_behind
from mbert_atlas.plan.files import sources_of
from mbert_atlas.plan.runs import Run
from mbert_atlas.sources.mirror import Mirror
from workflow.needs import requested

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_LINE = 1000  # bytes; files with that many for each wanted line are not read


def check_sizes(plan: Any, targets: Sequence[str]) -> None:
    """Check the sizes that targets request of bitexts which are synthetic or here already.

    A DataError (several: DataErrors) names what is larger than a bitext; its key is one of the
    merged config.
    """
    mistakes: dict[str, DataError] = {}
    for run in adjustments(plan, targets):
        family, bitext, language = run.family, run.specification["bitext"], str(run.language)
        sentences = run.specification["hyperparameters"]["sentences"]
        held_out = plan.config.alignment.held_out
        count = _pairs(plan, bitext, language, max(sentences, held_out + 1))
        if count is None:
            continue
        holds = f"{bitext!r} has {count} sentence pairs of {language!r}"
        if held_out >= count:
            problem = f"{held_out} are held out, and {holds}"
            where = "key alignment.held_out"
            mistakes.setdefault(where, DataError("config", where, problem, "take fewer"))
        if sentences > count:
            problem = f"{sentences} sentences are requested, and {holds}"
            where = f"key runs.{_origin(plan, family, sentences)}.published.sentences"
            mistakes.setdefault(where, DataError("config", where, problem, "request fewer"))
    if mistakes:
        raise joined(mistakes.values())


def _origin(plan: Any, family: str, sentences: int) -> str:
    """Return the family from which one has inherited its number of sentences, or itself."""
    runs = plan.config.runs
    while (below := runs[family].like) in runs and runs[below].published.sentences == sentences:
        family = below
    return family


def adjustments(plan: Any, targets: Sequence[str]) -> Iterator[Run]:
    """Yield the adjustments behind targets, each at least once."""
    files = [*targets, *files_behind(plan, requested(plan, targets))]
    names = {match[1] for file in files if (match := re.search(r"/runs/([^/]+)/", file))}
    runs = {run.id: run for run in plan.runs}
    for name in sorted(names & runs.keys()):
        run: Run | None = runs[name]
        while run is not None:
            if run.kind == "adjustment":
                yield run
            run = runs[run.start] if run.start else None


def _pairs(plan: Any, bitext: str, language: str, wanted: int) -> int | None:
    """Return the most sentence pairs that a bitext can hold, counted up to ``wanted``.

    None: its files are not here.
    """
    item, config = plan.config.datasets[bitext], plan.config
    if item.parent:
        return _pairs(plan, item.parent, language, wanted)
    if config.miniature:
        count: int = config.miniature.sizes.bitext_sentences
    else:
        copies = Mirror.read(config.mirror) if config.mirror else None
        count = 0
        for source in sources_of(bitext, item, language, plan.languages):
            held = copies.holder(source.path) if copies else None
            file = Path(config.downloads) / source.path
            file = copies.folder / held if copies and held else file
            if not file.is_file():
                return None
            try:
                count += _lines(file, wanted)
            except DAMAGE:
                return None  # the job that reads it reports the damage
    limit: int | None = getattr(item, "limit", None)
    return min(count, limit or count)


def _lines(file: Path, most: int) -> int:
    """Return the number of lines in a file, of a zip file in its longest part, up to ``most``."""
    if file.stat().st_size >= most * _LINE:
        return most
    if file.suffix != ".zip":
        with _OPENERS.get(file.suffix, open)(file, "rb") as stream:
            return _count(stream, most)
    with zipfile.ZipFile(file) as archive, ExitStack() as stack:
        parts = [stack.enter_context(archive.open(name)) for name in archive.namelist()]
        return max((_count(part, most) for part in parts), default=0)


def _count(stream: IO[bytes], most: int) -> int:
    count, last = 0, b"\n"
    while count < most and (block := stream.read(1 << 20)):
        count, last = count + block.count(b"\n"), block[-1:]
    return min(most, count + (last != b"\n"))

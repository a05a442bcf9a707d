"""Jobs that read or derive a dataset: what every reader takes, and the loop over languages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from mbert_atlas.corpora.cards import Card
from mbert_atlas.corpora.samples import shortfall
from mbert_atlas.files import write_json, write_parquet
from mbert_atlas.languages import Language
from mbert_atlas.progress import track

Options = Mapping[str, Any]


@dataclass(frozen=True)
class CorpusFile:
    """An upstream file, its format, and the files that belong to it."""

    path: Path
    format: str = ""
    partners: Sequence[Path] = ()


@dataclass(frozen=True)
class Upstream:
    """The upstream files of one language of a dataset."""

    language: Language
    files: Sequence[CorpusFile]

    @property
    def paths(self) -> list[Path]:
        """All files and their partners."""
        return [path for file in self.files for path in (file.path, *file.partners)]


@dataclass(frozen=True)
class ReadingJob:
    """A dataset, or one language of it, that is read from upstream files.

    ``origin`` returns what cards state of an upstream file, see :meth:`Card.content`; it raises an
    error for one that is not the registered.
    """

    upstreams: Sequence[Upstream]
    options: Options  # the dataset's section of the config
    output: Path
    card: Path
    origin: Callable[[Path], Mapping[str, str]] = lambda path: {}
    threads: int = 1

    def origins(self, *upstreams: Upstream) -> list[Mapping[str, str]]:
        """Return the origins of the files of some languages, each once."""
        paths = dict.fromkeys(path for upstream in upstreams for path in upstream.paths)
        return [self.origin(path) for path in paths]


@dataclass(frozen=True)
class DerivingJob:
    """A dataset, or one language of it, that is derived from the tables of another one."""

    tables: Sequence[Path]  # one, or one for each language, named by it
    tokenizer: Path | None  # its folder, if one is needed
    options: Options
    output: Path
    card: Path  # not every derived dataset has one


Reader = Callable[[Upstream, Options], tuple[pa.Table, Card]]  # of one language


def read_single(job: ReadingJob, read: Reader) -> None:
    """Read the one language of a job."""
    (upstream,) = job.upstreams
    origins = job.origins(upstream)
    table, card = read(upstream, job.options)
    card.write(job.card, upstream.paths, origins)
    write_parquet(table, job.output)


def read_languages(job: ReadingJob, read: Reader) -> None:
    """Read all languages into one table, at most ``limit`` rows of each."""
    tables, cards = [], {}
    limit = job.options.get("limit")
    for upstream in track(job.upstreams, "languages"):
        code, origins = upstream.language.code, job.origins(upstream)
        table, card = read(upstream, job.options)
        kept = table.slice(0, limit)
        card.notes += shortfall(limit, len(kept), f"rows of {code}")
        if len(kept) < len(table):
            card.counts["kept"] = len(kept)
            card.dropped["beyond the limit"] = len(table) - len(kept)
        tables.append(kept)
        cards[code] = card.content(upstream.paths, origins)
    write_json(cards, job.card)
    write_parquet(pa.concat_tables(tables), job.output)

"""Snakemake's records of finished jobs."""

from collections.abc import Callable
from pathlib import Path

from snakemake.persistence.file import FilePersistence

from mbert_atlas.scorecard.provenance import Record


def record_reader(folder: Path = Path(".snakemake")) -> Callable[[str], Record | None]:
    """Return a function from a file to Snakemake's record of the job that made it, or to none."""
    persistence = FilePersistence(nolock=True, path=folder)

    def record_of(name: str) -> Record | None:
        noted = persistence._read_record(name)
        if noted is None or not noted.log or not noted.starttime or not noted.endtime:
            return None
        return Record(tuple(noted.input or ()), noted.log[0], noted.starttime, noted.endtime)

    return record_of

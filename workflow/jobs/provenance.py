"""Jobs of the rules in `workflow/rules/provenance.smk`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from workflow.job import Snakemake


def trace_artifacts(snakemake: Snakemake) -> None:
    from mbert_atlas.files import write_json
    from mbert_atlas.scorecard.provenance import Tracer, code_version, trace, write_config

    params, output = snakemake.params, snakemake.output
    write_config(snakemake.config, Path(output.config))
    paths = {item["path"]: name for name, item in params.stated["encoders"].items()}
    tracer = Tracer(params.stated["results"], record_reader(), paths)
    content = trace(params.stated, tracer, Path(output.record), Path(output.config))
    write_json(content | {"code": code_version(Path(params.home))}, output.record)


def write_crate(snakemake: Snakemake) -> None:
    from mbert_atlas.scorecard.crate import write_crate

    write_crate(
        Path(snakemake.input.record),
        Path(snakemake.output.metadata),
        Path(snakemake.output.workflow),
        pages=list(map(Path, snakemake.input.pages)),
        snakefile=Path(snakemake.params.snakefile["path"]),
        citation=Path(snakemake.params.citation["path"]),
    )


def record_reader(folder: Path = Path(".snakemake")) -> Callable[[str], Any]:
    """Return a function from a file to Snakemake's record of the job that made it, or to none."""
    from snakemake.persistence.file import FilePersistence

    from mbert_atlas.scorecard.provenance import Record

    persistence = FilePersistence(nolock=True, path=folder)

    def record_of(name: str) -> Record | None:
        noted = persistence._read_record(name)
        if noted is None or not noted.log or not noted.starttime or not noted.endtime:
            return None
        return Record(tuple(noted.input or ()), noted.log[0], noted.starttime, noted.endtime)

    return record_of

"""Jobs of the rules in `workflow/rules/provenance.smk`."""

from pathlib import Path

from workflow.job import Snakemake


def trace_artifacts(snakemake: Snakemake) -> None:
    from mbert_atlas.files import write_json
    from mbert_atlas.scorecard.provenance import Tracer, code_version, trace, write_config
    from workflow.records import reader

    params, output = snakemake.params, snakemake.output
    write_config(snakemake.config, Path(output.config))
    paths = {item["path"]: name for name, item in params.stated["encoders"].items()}
    tracer = Tracer(params.stated["results"], reader(), paths)
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

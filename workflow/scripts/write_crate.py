from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.scorecard.crate import write_crate

    write_crate(
        snakemake.input.record,
        snakemake.output.metadata,
        snakemake.output.workflow,
        pages=snakemake.input.pages,
        snakefile=Path(snakemake.params.snakefile["path"]),
        citation=Path(snakemake.params.citation["path"]),
    )

from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.scorecard.crate import write_crate

    write_crate(
        Path(snakemake.input.record),
        Path(snakemake.output.metadata),
        Path(snakemake.output.workflow),
        pages=list(map(Path, snakemake.input.pages)),
        snakefile=Path(snakemake.params.snakefile["path"]),
        citation=Path(snakemake.params.citation["path"]),
    )

from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.analysis.projection import project_sample

    project_sample(
        Path(snakemake.input[0]),
        Path(snakemake.output[0]),
        threads=snakemake.threads,
        **snakemake.params.sample,
    )

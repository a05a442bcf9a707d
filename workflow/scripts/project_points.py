from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.projection import project_sample

    project_sample(
        Path(snakemake.input[0]),
        Path(snakemake.output[0]),
        threads=snakemake.threads,
        **snakemake.params.sample,
    )


run(main, snakemake)

from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.projection import cluster_sample

    cluster_sample(Path(snakemake.input[0]), Path(snakemake.output[0]), **snakemake.params.sample)


run(main, snakemake)

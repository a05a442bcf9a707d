from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.config.static_vectors import StaticVectors
    from mbert_atlas.static_vectors.training import train_static_vectors

    train_static_vectors(
        StaticVectors(**snakemake.params.vectors),
        Path(snakemake.input.tokenizer),
        Path(snakemake.input.tokens),
        Path(snakemake.output[0]),
        threads=snakemake.threads,
    )


run(main, snakemake)

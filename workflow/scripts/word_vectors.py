from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.representations.word_vectors import word_vectors

    word_vectors(
        encoder=Path(snakemake.input.encoder),
        store=Path(snakemake.input.contexts),
        output=Path(snakemake.output[0]),
    )


run(main, snakemake)

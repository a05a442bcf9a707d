from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.representations.word_vectors import word_vectors

    word_vectors(
        encoder=Path(snakemake.input.encoder),
        store=Path(snakemake.input.contexts),
        output=Path(snakemake.output[0]),
    )


run(main, snakemake)

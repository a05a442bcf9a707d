from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.representations.word_vectors import word_vectors

    word_vectors(
        encoder=Path(snakemake.input.encoder),
        store=Path(snakemake.input.contexts),
        output=Path(snakemake.output[0]),
    )

from pathlib import Path

from workflow.job import set_up

with set_up(snakemake) as options:
    from mbert_atlas.representations.language_vectors import language_means

    language_means(
        Path(snakemake.input.encoder),
        Path(snakemake.input.store),
        Path(snakemake.output[0]),
        **options,
    )

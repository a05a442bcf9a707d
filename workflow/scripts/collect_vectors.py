from pathlib import Path

from workflow.job import set_up

with set_up(snakemake) as options:
    from mbert_atlas.representations.language_vectors import collect_vectors

    collect_vectors(
        encoder=Path(snakemake.input.encoder),
        store=Path(snakemake.input.store),
        output=Path(snakemake.output[0]),
        **options,
    )

from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.representations.language_vectors import language_means

    language_means(
        Path(snakemake.input.encoder),
        Path(snakemake.input.store),
        Path(snakemake.output[0]),
        languages=snakemake.params.languages,
        texts=snakemake.params.texts,
    )


run(main, snakemake)

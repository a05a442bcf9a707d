from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.representations.language_vectors import collect_vectors

    collect_vectors(
        encoder=Path(snakemake.input.encoder),
        store=Path(snakemake.input.store),
        output=Path(snakemake.output[0]),
        languages=snakemake.params.languages,
        **snakemake.params.tokens,
    )


run(main, snakemake)

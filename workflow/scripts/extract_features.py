from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.representations.extraction import extract_features

    for store, output, languages in zip(
        snakemake.input.stores, snakemake.output, snakemake.params.languages, strict=True
    ):
        extract_features(
            encoder=Path(snakemake.input.model),
            store=Path(store),
            output=Path(output),
            pooling=snakemake.params.pooling,
            splits=snakemake.params.splits,
            languages=languages,
        )


run(main, snakemake)

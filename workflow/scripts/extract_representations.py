from pathlib import Path

from atlas_job import run


def main(snakemake):
    from mbert_atlas.representations.extraction import extract_texts

    representation = snakemake.params.representation
    extract_texts(
        encoder=Path(snakemake.input.encoder),
        store=Path(snakemake.input.tokens),
        output=Path(snakemake.output[0]),
        layers=representation["layers"],
        pooling=representation["pooling"],
    )


run(main, snakemake)

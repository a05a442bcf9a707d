from itertools import chain
from pathlib import Path

from pretraining_texts import texts_by_language
from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.encoders.extension import extend_vocabulary
    from mbert_atlas.specifications import Extension

    extended = snakemake.params.extended
    extend_vocabulary(
        Extension(**extended["extension"]),
        Path(snakemake.input.encoder),
        chain.from_iterable(texts_by_language(snakemake.input.texts).values()),
        Path(snakemake.output[0]),
        seed=extended["seed"],
    )


run(main, snakemake)

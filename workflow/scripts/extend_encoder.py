from itertools import chain
from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run
from workflow.scripts.pretraining_texts import texts_by_language


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.config.training import Extension
    from mbert_atlas.encoders.extension import extend_vocabulary

    changed = snakemake.params.changed
    extend_vocabulary(
        Extension(**changed["extension"]),
        Path(snakemake.input.encoder),
        chain.from_iterable(texts_by_language(snakemake.input.texts).values()),
        Path(snakemake.output[0]),
        seed=changed["seed"],
    )


run(main, snakemake)

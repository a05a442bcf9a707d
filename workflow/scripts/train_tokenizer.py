from itertools import chain, islice
from pathlib import Path

from workflow.scripts.atlas_job import run
from workflow.scripts.pretraining_texts import texts_by_language


def main(snakemake):
    from mbert_atlas.encoders.wordpiece import train_wordpiece

    pretraining = snakemake.params.pretraining
    texts = texts_by_language(snakemake.input.texts).values()
    train_wordpiece(
        chain.from_iterable(islice(found, pretraining["texts_per_language"]) for found in texts),
        Path(snakemake.output[0]),
        pretraining["vocabulary_size"],
        limit_alphabet=pretraining["alphabet_size"],
    )


run(main, snakemake)

from pathlib import Path

from workflow.scripts.atlas_job import run
from workflow.scripts.pretraining_texts import texts_by_language


def main(snakemake):
    from mbert_atlas.encoding.pretraining import encode_texts

    pretraining = snakemake.params.pretraining
    encode_texts(
        texts_by_language(snakemake.input.texts),
        snakemake.input.tokenizer,
        Path(snakemake.output[0]),
        max_length=pretraining["max_length"],
        texts_per_language=pretraining["texts_per_language"],
    )


run(main, snakemake)

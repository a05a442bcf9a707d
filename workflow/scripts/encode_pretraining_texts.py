from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run
from workflow.scripts.pretraining_texts import texts_by_language


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.encoding.pretraining import encode_texts

    encode_texts(
        texts_by_language(snakemake.input.texts),
        snakemake.input.tokenizer,
        Path(snakemake.output[0]),
        **snakemake.params.pretraining,
    )


run(main, snakemake)

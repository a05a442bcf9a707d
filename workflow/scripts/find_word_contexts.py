from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.representations.word_contexts import find_word_contexts

    find_word_contexts(
        dictionaries=[Path(path) for path in snakemake.input.dictionaries],
        side=snakemake.params.side,
        language=snakemake.wildcards.language,
        texts=Path(snakemake.input.texts),
        tokenizer_dir=Path(snakemake.input.tokenizer),
        output=Path(snakemake.output[0]),
        **snakemake.params.options,
    )


run(main, snakemake)

from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.representations.static_word_vectors import static_word_vectors

    static_word_vectors(
        static=Path(snakemake.input.static),
        tokenizer_dir=Path(snakemake.input.tokenizer),
        dictionaries=[Path(path) for path in snakemake.input.dictionaries],
        side=snakemake.params.side,
        language=snakemake.wildcards.language,
        output=Path(snakemake.output[0]),
    )


run(main, snakemake)

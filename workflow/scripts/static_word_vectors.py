from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.representations.static_word_vectors import static_word_vectors

    static_word_vectors(
        static=Path(snakemake.input.static),
        tokenizer_dir=Path(snakemake.input.tokenizer),
        dictionaries=[Path(path) for path in snakemake.input.dictionaries],
        side="source" if snakemake.wildcards.language == "en" else "target",
        language=snakemake.wildcards.language,
        output=Path(snakemake.output[0]),
    )

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.representations.static_word_vectors import static_word_vectors

    static_word_vectors(
        static=snakemake.input.static,
        tokenizer_dir=snakemake.input.tokenizer,
        dictionaries=snakemake.input.dictionaries,
        side="source" if snakemake.wildcards.language == "en" else "target",
        language=snakemake.wildcards.language,
        output=snakemake.output[0],
    )

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.representations.word_contexts import find_word_contexts

    find_word_contexts(
        dictionaries=snakemake.input.dictionaries,
        side="source" if snakemake.wildcards.language == "en" else "target",
        language=snakemake.wildcards.language,
        texts=snakemake.input.texts,
        tokenizer_dir=snakemake.input.tokenizer,
        output=snakemake.output[0],
        **snakemake.params.options,
    )

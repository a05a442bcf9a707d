from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.corpora.plain_text import texts_by_language
    from mbert_atlas.encoding.pretraining import encode_texts

    encode_texts(
        texts_by_language(snakemake.input.texts),
        snakemake.input.tokenizer,
        snakemake.output[0],
        **snakemake.params.pretraining,
    )

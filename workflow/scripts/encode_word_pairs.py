from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.alignment.pairs import encode_word_pairs, word_pairs

    options = snakemake.params.alignment
    tables = word_pairs(
        snakemake.input.bitext,
        snakemake.input.pharaoh,
        snakemake.output.card,
        held_out=options["held_out"],
        seed=0,  # the same sentences are kept apart from every run
        language=snakemake.wildcards.language,
        maximum_words=options["maximum_words"],
    )
    for part, table in zip(("train", "heldout"), tables, strict=True):
        encode_word_pairs(
            table,
            snakemake.input.tokenizer,
            snakemake.output[part],
            maximum_length=options["maximum_length"],
            units="subwords" if snakemake.params.made_from else "words",
        )

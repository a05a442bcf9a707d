from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.representations.word_vectors import word_vectors

    word_vectors(
        encoder=snakemake.input.encoder, store=snakemake.input.contexts, output=snakemake.output[0]
    )

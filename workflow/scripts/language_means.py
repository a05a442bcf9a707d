from workflow.job import set_up

with set_up(snakemake) as options:
    from mbert_atlas.representations.language_vectors import language_means

    language_means(snakemake.input.encoder, snakemake.input.store, snakemake.output[0], **options)

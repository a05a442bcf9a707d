from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.config.static_vectors import StaticVectors
    from mbert_atlas.static_vectors.training import train_static_vectors

    train_static_vectors(
        StaticVectors(**snakemake.params.vectors),
        snakemake.input.tokenizer,
        snakemake.input.tokens,
        snakemake.output[0],
        threads=snakemake.threads,
    )

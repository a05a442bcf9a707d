from workflow.job import set_up

with set_up(snakemake) as options:
    from mbert_atlas.representations.language_vectors import collect_vectors

    collect_vectors(
        encoder=snakemake.input.encoder,
        store=snakemake.input.store,
        output=snakemake.output[0],
        **options,
    )

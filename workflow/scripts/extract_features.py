from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.files import atomic_directory
    from mbert_atlas.representations.extraction import extract_features

    stores = snakemake.params.stores.items()
    with atomic_directory(snakemake.output[0]) as folder:
        for (name, options), store in zip(stores, snakemake.input.stores, strict=True):
            extract_features(
                encoder=snakemake.input.model,
                store=store,
                output=folder / name,
                pooling=snakemake.params.pooling,
                layers=snakemake.params.layers,
                **options,
            )

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.config.static_vectors import PairClassifier
    from mbert_atlas.static_vectors.classification import classify_with_static_vectors

    languages = snakemake.params.languages
    classify_with_static_vectors(
        PairClassifier(**snakemake.params.network),
        snakemake.input.vectors,
        snakemake.input.train,
        dict(zip(languages, snakemake.input.evaluate, strict=True)),
        snakemake.output[0],
        seed=int(snakemake.wildcards.seed),
        languages=languages,
    )

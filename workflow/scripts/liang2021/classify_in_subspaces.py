from workflow.job import set_up

with set_up(snakemake) as options:
    from mbert_atlas.files import write_parquet
    from mbert_atlas.papers.liang2021.classifiers import classify_in_subspaces

    scores = classify_in_subspaces(
        train=snakemake.input.train / "words",
        test=snakemake.input.test / "words",
        directions=snakemake.input.directions,
        **options,
    )
    write_parquet(scores, snakemake.output[0])

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.analysis.similarity import measure_similarity

    folder, similarity = snakemake.input[0], snakemake.params.similarity
    measure_similarity(
        {protocol: folder / store for protocol, store in similarity["stores"].items()},
        similarity["pivots"],
        snakemake.output[0],
    )

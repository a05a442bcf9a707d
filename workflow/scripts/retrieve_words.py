from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.analysis.retrieval import retrieve_words

    retrieve_words(
        snakemake.input.dictionary,
        snakemake.input.english,
        snakemake.input.other,
        snakemake.output[0],
    )

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.sources.fetch import fetch
    from workflow.upstream import sources_of

    fetch(snakemake.wildcards.path, snakemake.output[0], sources_of(snakemake.config))

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.sources.fetch import fetch_snapshot
    from workflow.upstream import sources_of

    hub, sources = snakemake.params.hub, sources_of(snakemake.config)
    fetch_snapshot(hub["repository"], hub["revision"], snakemake.output[0], sources)

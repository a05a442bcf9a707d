from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.errors import AtlasError
    from mbert_atlas.sources.batch import check_all, fetch_all
    from workflow.upstream import sources_of

    config, params = snakemake.config, snakemake.params
    what = params.paths, params.snapshots, config["downloads"]
    if params.is_check:
        checked = check_all(*what, sources_of(config, notes=False))
        if lacking := sum(not one.is_usable for one in checked):
            raise AtlasError(f"{lacking} of {len(checked)} sources cannot be had, see above.")
    else:
        fetch_all(*what, sources_of(config))

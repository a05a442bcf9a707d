from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.sources.fetch import fetch_snapshot
    from workflow.upstream import sources_of

    hub, sources = snakemake.params.hub, sources_of(snakemake.config)
    folder = fetch_snapshot(hub["repository"], hub["revision"], snakemake.output[0], sources)
    if not (folder / "tokenizer.json").is_file():
        from mbert_atlas.encoders.conversion import write_tokenizer

        write_tokenizer(folder)

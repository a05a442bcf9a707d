from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.encoding.texts import encode_parallel
    from mbert_atlas.files import read_parquet

    encode_parallel(
        [read_parquet(path) for path in snakemake.input.tables],
        snakemake.params.languages,
        snakemake.input.tokenizer,
        snakemake.output[0],
        max_length=snakemake.params.max_length,
    )

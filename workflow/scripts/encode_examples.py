from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.encoding import encode, labels_of
    from mbert_atlas.files import read_parquet

    options = dict(snakemake.params.encoding)
    task, table = options.pop("task"), read_parquet(snakemake.input.table)
    encode(
        task,
        table,
        snakemake.input.tokenizer,
        snakemake.output[0],
        labels=labels_of(task, table, snakemake.params.languages),
        origin=snakemake.input.table,
        allow_unknown=snakemake.params.allow_unknown,
        **options,
    )

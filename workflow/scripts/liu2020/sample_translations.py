from workflow.job import set_up

with set_up(snakemake) as options:
    from mbert_atlas.arrays import load_arrays
    from mbert_atlas.files import read_parquet, write_json
    from mbert_atlas.papers.liu2020.measures import samples
    from mbert_atlas.tokenizer import open_tokenizer

    tables = [read_parquet(path).to_pandas() for path in snakemake.input.translations]
    facts = samples(
        load_arrays(snakemake.input.sentences),
        open_tokenizer(snakemake.input.tokenizer),
        dict(zip(snakemake.params.shown, tables, strict=True)),
        **options,
    )
    write_json(facts, snakemake.output[0])

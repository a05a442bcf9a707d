from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.files import write_parquet
    from mbert_atlas.papers.liu2020.shifted_classification import classify_shifted

    examples = snakemake.input.examples
    table = classify_shifted(
        snakemake.input.model,
        dict(zip(snakemake.params.datasets, examples, strict=True)),
        snakemake.input.means,
        protocol=snakemake.wildcards.protocol,
        seed=int(snakemake.wildcards.seed),
        **snakemake.params.shift,
        target="en",
    )
    write_parquet(table, snakemake.output[0])

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.corpora.nli import write_mixed_language

    dataset = snakemake.params.dataset
    write_mixed_language(
        snakemake.input[0],
        snakemake.output.table,
        snakemake.output.card,
        seed=dataset["seed"],
        languages=dataset["languages"],
    )


run(main, snakemake)

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.analysis.projection import project_sample

    project_sample(
        snakemake.input[0],
        snakemake.output[0],
        threads=snakemake.threads,
        **snakemake.params.sample,
    )

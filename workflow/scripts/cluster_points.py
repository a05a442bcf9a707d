from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.analysis.projection import cluster_sample

    cluster_sample(snakemake.input[0], snakemake.output[0], **snakemake.params.sample)

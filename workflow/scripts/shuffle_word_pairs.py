from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.alignment.shuffled import shuffle_pairs

    shuffle_pairs(snakemake.input[0], snakemake.output[0])

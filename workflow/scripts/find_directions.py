from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.analysis.subspaces import find_directions

    find_directions(snakemake.input, snakemake.output[0], snakemake.params.languages)

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.analysis.scores import choose_hyperparameters

    choose_hyperparameters(
        snakemake.params.draws,
        snakemake.input,
        protocol=snakemake.wildcards.protocol,
        **snakemake.params.choose_by,
        output=snakemake.output[0],
    )

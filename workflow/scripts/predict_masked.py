from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.config.training import MaskedTraining
    from mbert_atlas.files import write_parquet
    from mbert_atlas.training.head_predictions import predict_masked

    table = predict_masked(
        MaskedTraining(**snakemake.params.training),
        snakemake.input.encoder,
        snakemake.input.tokens,
        seed=1,  # the same masks for all heads
        head=snakemake.input.head or None,
    )
    write_parquet(table, snakemake.output[0])

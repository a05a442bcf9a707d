from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.config.training import MaskedTraining
    from mbert_atlas.files import write_parquet
    from mbert_atlas.training.head_predictions import predict_masked

    table = predict_masked(
        MaskedTraining(**snakemake.params.training),
        Path(snakemake.input.encoder),
        Path(snakemake.input.tokens),
        seed=snakemake.params.seed,
        head=Path(snakemake.input.head) if snakemake.input.head else None,
    )
    write_parquet(table, snakemake.output[0])

from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.config.training import MaskedTraining, Pretraining
    from mbert_atlas.training.pretraining import pretrain

    inputs, encoder = snakemake.input, snakemake.params.encoder
    section = encoder["scratch"] or encoder["changed"]
    pretrain(
        Pretraining(**section["pretraining"])
        if encoder["scratch"]
        else MaskedTraining(**section["training"]),
        inputs.tokenizer,
        inputs.tokens,
        snakemake.output[0],
        seed=section["seed"],
        state_dir=Path(snakemake.params.state),
        start=inputs.start or None,
        output_curve=snakemake.output.curve,
    )

from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.config.training import MaskedTraining
    from mbert_atlas.files import write_json
    from mbert_atlas.training.head_fitting import fit_head

    card = fit_head(
        MaskedTraining(**snakemake.params.training),
        snakemake.input.encoder,
        snakemake.input.tokens,
        snakemake.output[0],
        seed=snakemake.params.seed,
        state_dir=Path(snakemake.params.state),
        output_curve=snakemake.output.curve,
    )
    write_json(card, snakemake.output.card)

from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.config.training import Adjustment
    from mbert_atlas.files import write_json
    from mbert_atlas.training.adjustment import adjust

    counts = adjust(
        encoder=snakemake.input.encoder,
        store=snakemake.input.pairs,
        specification=Adjustment(**snakemake.params.specification["hyperparameters"]),
        seed=int(snakemake.wildcards.seed),
        output=snakemake.output.model,
        state_dir=Path(snakemake.params.state),
        output_curve=snakemake.output.curve,
    )
    write_json(counts, snakemake.output.counts)

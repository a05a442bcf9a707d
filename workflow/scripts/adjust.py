from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.config.training import Adjustment
    from mbert_atlas.files import write_json
    from mbert_atlas.training.adjustment import adjust

    counts = adjust(
        encoder=Path(snakemake.input.encoder),
        store=Path(snakemake.input.pairs),
        specification=Adjustment(**snakemake.params.specification["hyperparameters"]),
        seed=int(snakemake.wildcards.seed),
        output=Path(snakemake.output.model),
        state_dir=Path(snakemake.params.state),
    )
    write_json(counts, snakemake.output.counts)


run(main, snakemake)

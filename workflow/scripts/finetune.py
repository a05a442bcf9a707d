from pathlib import Path

from atlas_job import run


def main(snakemake):
    from mbert_atlas.specifications import Optimisation
    from mbert_atlas.training.finetune import HeadOptions, finetune

    specification = snakemake.params.specification
    hyperparameters = specification["hyperparameters"]
    finetune(
        task=specification["encoding"]["task"],
        encoder=Path(snakemake.input.encoder),
        train=Path(snakemake.input.train),
        evaluate={Path(path).name: Path(path) for path in snakemake.input.evaluate},
        languages=specification["evaluate"],
        optimisation=Optimisation(**hyperparameters["optimisation"]),
        head=HeadOptions(**hyperparameters["head"]),
        seed=int(snakemake.wildcards.seed),
        output_model=Path(snakemake.output.model),
        output_predictions=Path(snakemake.output.predictions),
        state_dir=Path(snakemake.params.state),
        description=f"{snakemake.wildcards.run}, seed {snakemake.wildcards.seed}",
    )


run(main, snakemake)

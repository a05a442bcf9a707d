from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas import tasks
    from mbert_atlas.config.training import Optimisation
    from mbert_atlas.training.finetune import finetune
    from mbert_atlas.training.job import FinetuningJob
    from mbert_atlas.training.methods import methods_of

    specification, files = snakemake.params.specification, dict(snakemake.input.items())
    hyperparameters = specification["hyperparameters"]
    if choice := files.pop("choice"):
        from mbert_atlas.plan.search import apply_choice

        hyperparameters = apply_choice(hyperparameters, Path(choice))
    task = specification["encoding"]["task"]
    tests = [Path(path) for path in files.pop("evaluate")]
    inputs = {name: Path(path) for name, path in files.items()}
    model = snakemake.output.get("model")  # draws of a search have none
    job = FinetuningJob(
        task=task,
        encoder=inputs.pop("encoder"),
        train=inputs.pop("train"),
        evaluate={path.name: path for path in tests},
        optimisation=Optimisation(**hyperparameters["optimisation"]),
        seed=int(snakemake.wildcards.seed),
        output_model=Path(model) if model else None,
        output_predictions=Path(snakemake.output.predictions),
        state_dir=Path(snakemake.params.state),
        head=tasks.get(task).head_options(**hyperparameters["head"]),
        trained_layers=hyperparameters["trained_layers"],
        reinitialised_layers=hyperparameters["reinitialised_layers"],
        train_languages=specification.get("train_languages"),
        languages=specification["evaluate"],
        description=f"{snakemake.wildcards.run}, seed {snakemake.wildcards.seed}",
    )
    finetune(job, methods_of(hyperparameters, specification, inputs))


run(main, snakemake)

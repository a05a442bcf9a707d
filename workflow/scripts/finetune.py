from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas import tasks
    from mbert_atlas.config.merging import with_values
    from mbert_atlas.config.training import Optimisation
    from mbert_atlas.files import read_json
    from mbert_atlas.training.finetune import finetune
    from mbert_atlas.training.job import FinetuningJob
    from mbert_atlas.training.methods import methods_of

    specification, files = snakemake.params.specification, dict(snakemake.input.items())
    hyperparameters = specification["hyperparameters"]
    if choice := files.pop("choice"):
        hyperparameters = with_values(hyperparameters, read_json(choice)["values"])
    task = specification["encoding"]["task"]
    job = FinetuningJob(
        task=task,
        encoder=files.pop("encoder"),
        train=files.pop("train"),
        evaluate={path.name: path for path in files.pop("evaluate")},
        optimisation=Optimisation(**hyperparameters["optimisation"]),
        seed=int(snakemake.wildcards.seed),
        output_model=snakemake.output.get("model"),  # draws of a search have none
        output_predictions=snakemake.output.predictions,
        output_curve=snakemake.output.curve,
        state_dir=Path(snakemake.params.state),
        head=tasks.get(task).head_options(**hyperparameters["head"]),
        trained_layers=hyperparameters["trained_layers"],
        reinitialised_layers=hyperparameters["reinitialised_layers"],
        labelled_subword=hyperparameters.get("labelled_subword"),
        train_languages=specification.get("train_languages"),
        languages=specification["evaluate"],
        description=f"{snakemake.wildcards.run}, seed {snakemake.wildcards.seed}",
    )
    finetune(job, methods_of(hyperparameters, specification, files))

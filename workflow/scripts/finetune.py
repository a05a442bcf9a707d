from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.config.training import (
        Adjustment,
        HeadOptions,
        LanguageConfusion,
        Optimisation,
        Replay,
        Selection,
    )
    from mbert_atlas.objectives.confusion import ConfusionSource
    from mbert_atlas.objectives.replay import ReplaySource
    from mbert_atlas.training.finetune import finetune

    specification = snakemake.params.specification
    hyperparameters = specification["hyperparameters"]
    if choice := snakemake.input.choice:
        from mbert_atlas.planning.search import apply_choice

        hyperparameters = apply_choice(hyperparameters, Path(choice))
    seed, replay, confusion = int(snakemake.wildcards.seed), None, None
    if snakemake.input.replay:
        pairs, original = map(Path, snakemake.input.replay)
        replay = ReplaySource(
            specification=Replay(**hyperparameters["replay"]),
            adjustment=Adjustment(**specification["replay"]["hyperparameters"]),
            store=pairs,
            encoder=original,
            seed=seed,
        )
    if method := hyperparameters["confusion"]:
        confusion = ConfusionSource(
            specification=LanguageConfusion(**method), store=Path(snakemake.input.language_data)
        )
    selection = hyperparameters["selection"]
    finetune(
        task=specification["encoding"]["task"],
        encoder=Path(snakemake.input.encoder),
        train=Path(snakemake.input.train),
        evaluate={Path(path).name: Path(path) for path in snakemake.input.evaluate},
        train_languages=specification.get("train_languages"),
        languages=specification["evaluate"],
        optimisation=Optimisation(**hyperparameters["optimisation"]),
        head=HeadOptions(**hyperparameters["head"]),
        seed=seed,
        replay=replay,
        frozen=hyperparameters["trained_layers"] == "none",
        selection=Selection(**selection) if selection else None,
        confusion=confusion,
        output_model=Path(snakemake.output.model),
        output_predictions=Path(snakemake.output.predictions),
        state_dir=Path(snakemake.params.state),
        description=f"{snakemake.wildcards.run}, seed {snakemake.wildcards.seed}",
    )


run(main, snakemake)

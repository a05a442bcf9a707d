from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.probing import probe_features
    from mbert_atlas.config.probing import Probe
    from mbert_atlas.plan.search import apply_choice

    hyperparameters = snakemake.params.hyperparameters
    if choice := snakemake.input.choice:
        hyperparameters = apply_choice(hyperparameters, Path(choice))
    outputs, probe = snakemake.output, snakemake.params.probe
    features = Path(snakemake.input.features)
    probe_features(
        features={name: features / name for name in (probe["train"], *probe["predict"])},
        train_on=probe["train"],
        protocols={
            "published": Probe.of_run(hyperparameters),
            "corrected": Probe(**probe["corrected"]),
        },
        seed=int(snakemake.wildcards.seed),
        output={name: Path(outputs[name]) for name in ("published", "corrected")},
        report=Path(outputs.report),
        threads=snakemake.threads,
    )


run(main, snakemake)

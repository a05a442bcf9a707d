from pathlib import Path

from atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.probing import probe_features
    from mbert_atlas.config.probing import Probe
    from mbert_atlas.planning.search import apply_choice

    hyperparameters = snakemake.params.hyperparameters
    if choice := snakemake.input.choice:
        hyperparameters = apply_choice(hyperparameters, Path(choice))
    outputs = snakemake.output
    probe_features(
        features={name: Path(snakemake.input[name]) for name in ("wikipedia", "target")},
        train_on="wikipedia",
        protocols={
            "published": Probe.of_run(hyperparameters),
            "corrected": Probe(**snakemake.params.probe),
        },
        seed=int(snakemake.wildcards.seed),
        output={name: Path(outputs[name]) for name in ("published", "corrected")},
        report=Path(outputs.report),
        threads=snakemake.threads,
    )


run(main, snakemake)

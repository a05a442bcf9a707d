"""Jobs of the rules in `workflow/rules/analysis.smk`."""

from pathlib import Path

from workflow.job import Snakemake


def identify_languages(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.probing import probe_features
    from mbert_atlas.config.merging import with_values
    from mbert_atlas.config.probing import Probe
    from mbert_atlas.files import read_json

    hyperparameters = snakemake.params.hyperparameters
    if choice := snakemake.input.choice:
        hyperparameters = with_values(hyperparameters, read_json(Path(choice))["values"])
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


def draw_points(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.projection import draw_points

    features = Path(snakemake.input[0])
    draw_points(
        features / "target",
        features / "wikipedia",
        Path(snakemake.output[0]),
        **snakemake.params.sample,
    )


def cluster_points(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.projection import cluster_sample

    cluster_sample(Path(snakemake.input[0]), Path(snakemake.output[0]), **snakemake.params.sample)


def project_points(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.projection import project_sample

    project_sample(
        Path(snakemake.input[0]),
        Path(snakemake.output[0]),
        threads=snakemake.threads,
        **snakemake.params.sample,
    )


def measure_similarity(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.similarity import measure_similarity

    folder = Path(snakemake.input[0])
    measure_similarity(
        {protocol: folder / store for protocol, store in snakemake.params.stores.items()},
        snakemake.params.pivots,
        Path(snakemake.output[0]),
    )

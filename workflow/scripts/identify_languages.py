from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.analysis.probing import probe_features
    from mbert_atlas.config.merging import with_values
    from mbert_atlas.config.probing import Probe
    from mbert_atlas.files import read_json

    hyperparameters = snakemake.params.specification["hyperparameters"]
    if choice := snakemake.input.choice:
        hyperparameters = with_values(hyperparameters, read_json(choice)["values"])
    outputs, probe = snakemake.output, snakemake.params.probe
    features = snakemake.input.features
    probe_features(
        features={name: features / name for name in (probe["train"], *probe["predict"])},
        train_on=probe["train"],
        protocols={
            "published": Probe.of_run(hyperparameters),
            "corrected": Probe(**probe["corrected"]),
        },
        seed=int(snakemake.wildcards.seed),
        output={name: outputs[name] for name in ("published", "corrected")},
        report=outputs.report,
        threads=snakemake.threads,
    )

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.files import read_json

    rows = []
    for task, path in zip(snakemake.params.tasks, snakemake.input, strict=True):
        choice = read_json(path)
        values = {key.rpartition(".")[2]: value for key, value in choice["values"].items()}
        found = {**values, "n_grid_trials": len(choice["draws"]), "dev_score": choice["score"]}
        rows += [
            {"task": task, "protocol": protocol, "metric": metric, "value": value}
            for protocol in snakemake.params.protocols
            for metric, value in found.items()
        ]
    write_measurements(
        rows,
        snakemake.output[0],
        paper="muller2021",
        artifact="table3",
        model=snakemake.params.model,
        condition="hyperparameters",
    )


run(main, snakemake)

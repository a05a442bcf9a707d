from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.files import read_json
    from mbert_atlas.papers.tanti2021.search import reported_names

    rows = []
    for cell, path in zip(snakemake.params.cells, snakemake.input, strict=True):
        choice = read_json(path)
        found = {**reported_names(choice["values"], cell["condition"]), "dev_f1": choice["score"]}
        rows += [{**cell, "metric": metric, "value": value} for metric, value in found.items()]
    write_measurements(
        rows,
        snakemake.output[0],
        paper="tanti2021",
        artifact="table5",
        model=snakemake.params.model,
    )


run(main, snakemake)

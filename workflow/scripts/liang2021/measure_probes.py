from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.files import read_parquet
    from mbert_atlas.papers.liang2021 import measures

    artifact = getattr(snakemake.wildcards, "artifact", "figure5")
    options = dict(snakemake.params.options)
    rows = []
    for (name, probe), path in zip(snakemake.params.cells, snakemake.input, strict=True):
        frame = read_parquet(path).to_pandas()
        columns = {"task": probe, "model": name}
        if artifact == "figure5":
            columns |= {"model": "mbert", "target": name}
        if artifact == "figure1":
            rows += measures.by_window(frame, options["layer"], **columns)
        elif artifact == "figure3":
            rows += measures.by_layer(frame, options["by_layer"][probe], **columns)
        else:
            rows += measures.over_random(frame, options["layer"], options["width"], **columns)
    write_measurements(rows, snakemake.output[0], paper="liang2021", artifact=artifact)


run(main, snakemake)

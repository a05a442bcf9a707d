from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.analysis.transfer import Cell
    from mbert_atlas.papers.liu2020.measures import measure_inference, relative_drop, with_means

    cells = []
    for cell, path in zip(snakemake.params.cells, map(str, snakemake.input), strict=True):
        cells.append((Cell(**(cell | {"path": path})), cell["seed"]))
    rows = list(measure_inference(cells))
    artifact = snakemake.wildcards.artifact
    if artifact == "figure6b":
        sizes = dict.fromkeys(row["condition"].rpartition("_")[2] for row in rows)
        rows = [
            row
            for size in sizes
            for row in relative_drop(rows, f"bert_512_{size}", f"bert_20_{size}")
        ]
    columns = {"paper": "liu2020", "artifact": artifact}
    write_measurements(with_means(rows, task="xnli", model=""), snakemake.output[0], **columns)


run(main, snakemake)

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.analysis.transfer import Cell
    from mbert_atlas.papers.liang2021.measures import measure_preservation

    cells = []
    for cell, path in zip(snakemake.params.cells, map(str, snakemake.input), strict=True):
        layers = cell.pop("layers")
        cells.append((Cell(**(cell | {"path": path})), layers))
    rows = measure_preservation(cells, snakemake.params.means)
    artifact = snakemake.wildcards.artifact
    columns = {"paper": "liang2021", "artifact": artifact, "model": "mbert"}
    write_measurements(rows, snakemake.output[0], **columns)


run(main, snakemake)

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.analysis.transfer import Cell
    from mbert_atlas.papers.muller2021.measures import measure_layers

    cells = []
    for cell, path in zip(snakemake.params.cells, map(str, snakemake.input), strict=True):
        own = {key: value for key, value in cell.items() if key != "layers"}
        cells.append((Cell(**own, path=path), cell["layers"]))
    write_measurements(
        measure_layers(cells, snakemake.params.shown),
        snakemake.output[0],
        paper="muller2021",
        artifact=snakemake.wildcards.artifact,
        model=snakemake.params.model,
    )


run(main, snakemake)

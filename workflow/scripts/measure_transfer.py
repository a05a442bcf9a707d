from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.transfer import Cell, measure_transfer

    paper, _, artifact = snakemake.wildcards.table.partition("/")
    paths = map(str, snakemake.input)
    cells = zip(snakemake.params.cells, paths, strict=True)
    measure_transfer(
        [Cell(**(cell | {"path": path})) for cell, path in cells],
        snakemake.output[0],
        **snakemake.params.table,
        paper=paper,
        artifact=artifact,
    )


run(main, snakemake)

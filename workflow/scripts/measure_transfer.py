from atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.transfer import measure_transfer

    measure_transfer(
        [
            {**cell, "path": path}
            for cell, path in zip(snakemake.params.cells, snakemake.input, strict=True)
        ],
        snakemake.output[0],
        against=snakemake.params.against,
        paper="efimov2022",
        artifact="table2",
        model=snakemake.params.model,
        source="en",
    )


run(main, snakemake)

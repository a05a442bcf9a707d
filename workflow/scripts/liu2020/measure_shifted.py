from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.analysis.transfer import Cell
    from mbert_atlas.files import read_parquet
    from mbert_atlas.papers.liu2020.measures import (
        measure_inference,
        measure_shifted,
        with_means,
    )

    found, params = snakemake.input, snakemake.params
    plain = [
        (Cell(**(cell | {"path": path})), cell["seed"])
        for cell, path in zip(params.unshifted, map(str, found.unshifted), strict=True)
    ]
    tables = [
        (*cell, read_parquet(path).to_pandas())
        for cell, path in zip(params.shifted, found.shifted, strict=True)
    ]
    rows = [*measure_inference(plain), *measure_shifted(tables, **params.choice)]
    columns = {"paper": "liu2020", "artifact": "table4"}
    write_measurements(
        with_means(rows, mean="avg_without_en", task="xnli", model="mbert"),
        snakemake.output[0],
        **columns,
    )


run(main, snakemake)

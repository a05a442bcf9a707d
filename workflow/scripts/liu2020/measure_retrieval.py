from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.config.base import PROTOCOLS
    from mbert_atlas.files import read_parquet
    from mbert_atlas.papers.liu2020.measures import measure_retrieval, with_means

    tables = [
        (*cell, read_parquet(path).to_pandas())
        for cell, path in zip(snakemake.params.cells, snakemake.input, strict=True)
    ]
    rows = with_means(measure_retrieval(tables, PROTOCOLS), task="word_retrieval", model="")
    artifact = snakemake.wildcards.artifact
    write_measurements(rows, snakemake.output[0], paper="liu2020", artifact=artifact)


run(main, snakemake)

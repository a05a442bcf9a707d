from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.cells import with_files
    from mbert_atlas.registry import resolve

    params = snakemake.params
    rows = resolve(params.measure)(with_files(params.cells, snakemake.input), **params.options)
    write_measurements(rows, snakemake.output[0], **params.columns)


run(main, snakemake)

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import read_measurements, write_measurements
    from mbert_atlas.papers.muller2021.measures import (
        correlate_with_gap,
        measure_similarities,
        read_similarities,
    )

    frame = read_similarities(snakemake.params.cells, snakemake.input.similarities)
    artifact = snakemake.wildcards.artifact
    if snakemake.input.transfer:
        tables = map(read_measurements, snakemake.input.transfer)
        transfer = {str(table.task.iloc[0]): table for table in tables}
        rows = correlate_with_gap(frame, transfer, by_layer=artifact == "figure3")
    else:
        rows = measure_similarities(frame, snakemake.params.targets)
    write_measurements(
        rows,
        snakemake.output[0],
        paper="muller2021",
        artifact=artifact,
        model=snakemake.params.model,
    )


run(main, snakemake)

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import read_measurements, write_measurements
    from mbert_atlas.papers.muller2021.measures import mean_over_targets

    frames = [read_measurements(path) for path in snakemake.input]
    table = mean_over_targets(frames, snakemake.params.layers)
    write_measurements(
        table.to_dict("records"), snakemake.output[0], paper="muller2021", artifact="table1"
    )


run(main, snakemake)

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.arrays import load_arrays
    from mbert_atlas.config.base import PROTOCOLS
    from mbert_atlas.papers.liu2020.measures import count_token_sets

    columns = {"paper": "liu2020", "artifact": "table3", "task": "token_set", "model": "mbert"}
    rows = count_token_sets(load_arrays(snakemake.input[0]), PROTOCOLS)
    write_measurements(rows, snakemake.output[0], **columns)


run(main, snakemake)

from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.papers.tanti2021.measures import count_points

    write_measurements(
        [
            {"task": task, "value": n, "protocol": protocol}
            for task, n in count_points(snakemake.params.tasks, map(Path, snakemake.input)).items()
            for protocol in snakemake.params.protocols
        ],
        snakemake.output[0],
        paper="tanti2021",
        artifact="appendixB",
        condition="tsne_sample",
        metric="n_points",
        model=snakemake.params.model,
    )


run(main, snakemake)

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.papers.tanti2021.measures import (
        Experiment,
        measure_clusters,
        measure_scores,
    )

    files = snakemake.input
    scored = bool(files.labels)
    found = {"labels": files.labels, "languages": files.languages, "report": files.reports}
    if not scored:
        found = {"clusters": files.clusters}
    experiments = [
        Experiment(**cell, **dict(zip(found, paths, strict=True)))
        for cell, *paths in zip(snakemake.params.cells, *found.values(), strict=True)
    ]
    measure = measure_scores if scored else measure_clusters
    write_measurements(
        measure(experiments, snakemake.wildcards.artifact),
        snakemake.output[0],
        paper="tanti2021",
        model=snakemake.params.model,
    )


run(main, snakemake)

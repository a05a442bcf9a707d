from atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.analysis.specificity import Experiment, measure_clusters, measure_scores

    files = snakemake.input
    experiments = [
        Experiment(**cell, labels=labels, languages=languages, report=report, clusters=clusters)
        for cell, labels, languages, report, clusters in zip(
            snakemake.params.cells,
            files.labels,
            files.languages,
            files.reports,
            files.clusters,
            strict=True,
        )
    ]
    artifact = snakemake.wildcards.artifact
    measure = measure_scores if artifact in ("table1", "table2") else measure_clusters
    write_measurements(
        measure(experiments, artifact),
        snakemake.output[0],
        paper="tanti2021",
        model=snakemake.params.model,
    )


run(main, snakemake)

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.analysis.separation import measure_separation
    from mbert_atlas.papers.efimov2022.measures import average_shares

    artifact = snakemake.wildcards.artifact
    rows = list(measure_separation(snakemake.input, snakemake.params.panels))
    if artifact == "figure2":  # section 5.4 speaks of all NLI models; no other figure shows them
        rows += average_shares(rows)
    write_measurements(
        rows,
        snakemake.output[0],
        paper="efimov2022",
        artifact=artifact,
        model=snakemake.params.model,
        source="en",
    )


run(main, snakemake)

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.separation import measure_separation

    artifact = snakemake.wildcards.artifact
    measure_separation(
        snakemake.input,
        snakemake.output[0],
        panels=snakemake.params.panels,
        artifact=artifact,
        # It speaks of all NLI models together; only Figure 2 shows them all.
        section="section5.4" if artifact == "figure2" else None,
        paper="efimov2022",
        model=snakemake.params.model,
        source="en",
    )


run(main, snakemake)

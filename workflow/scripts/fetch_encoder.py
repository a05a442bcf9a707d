from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.sources import fetch_snapshot

    fetch_snapshot(
        snakemake.params.hub["repository"],
        snakemake.params.hub["revision"],
        snakemake.output[0],
        mirror=snakemake.config.get("mirror"),
        offline=snakemake.config["offline"],
    )


run(main, snakemake)

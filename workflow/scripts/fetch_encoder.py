from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.sources import fetch_snapshot

    fetch_snapshot(
        snakemake.params.hub["repository"],
        snakemake.params.hub["revision"],
        snakemake.output[0],
        mirror=snakemake.config.get("mirror"),
        offline=snakemake.config["offline"],
    )


run(main, snakemake)

from atlas_job import run


def main(snakemake):
    from mbert_atlas.sources import fetch_snapshot

    fetch_snapshot(
        snakemake.params.hub["repository"],
        snakemake.params.hub["revision"],
        snakemake.output[0],
        mirror=snakemake.params.mirror,
        offline=snakemake.params.offline,
    )


run(main, snakemake)

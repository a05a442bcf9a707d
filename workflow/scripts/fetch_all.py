from workflow.scripts.atlas_job import Snakemake, run
from workflow.scripts.origins import ROOT


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.sources import Register, fetch_all

    fetch_all(
        snakemake.params.paths,
        snakemake.params.snapshots,
        snakemake.config["downloads"],
        register=Register.read(ROOT / "resources/sources.yaml"),
        mirror=snakemake.config.get("mirror"),
        offline=snakemake.config["offline"],
    )


run(main, snakemake)

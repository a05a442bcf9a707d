"""Jobs of the rules in `workflow/rules/sources.smk`."""

from pathlib import Path

from workflow.job import ROOT, Snakemake


def miniature(snakemake: Snakemake) -> None:
    from mbert_atlas.config.miniature import MiniatureSizes
    from mbert_atlas.miniature.writing import write_miniature

    specification = dict(snakemake.params.specification)
    sizes = MiniatureSizes(**specification.pop("sizes"))
    folder = Path(snakemake.output.manifest).parent
    write_miniature(folder, sizes=sizes, only=snakemake.params.only, **specification)


def fetch_file(snakemake: Snakemake) -> None:
    from mbert_atlas.sources import Register, fetch

    fetch(
        snakemake.wildcards.path,
        snakemake.output[0],
        register=Register.read(ROOT / "resources/sources.yaml"),
        mirror=snakemake.config.get("mirror"),
        offline=snakemake.config["offline"],
    )


def fetch_encoder(snakemake: Snakemake) -> None:
    from mbert_atlas.sources import fetch_snapshot

    fetch_snapshot(
        snakemake.params.hub["repository"],
        snakemake.params.hub["revision"],
        snakemake.output[0],
        mirror=snakemake.config.get("mirror"),
        offline=snakemake.config["offline"],
    )


def fetch_all(snakemake: Snakemake) -> None:
    from mbert_atlas.sources import Register, fetch_all

    fetch_all(
        snakemake.params.paths,
        snakemake.params.snapshots,
        snakemake.config["downloads"],
        register=Register.read(ROOT / "resources/sources.yaml"),
        mirror=snakemake.config.get("mirror"),
        offline=snakemake.config["offline"],
    )

"""Jobs of the rules in `workflow/rules/sources.smk`."""

from pathlib import Path
from typing import Any

from workflow.job import ROOT, Snakemake


def miniature(snakemake: Snakemake) -> None:
    from mbert_atlas.config.miniature import MiniatureSizes
    from mbert_atlas.miniature.writing import write_miniature

    specification = dict(snakemake.params.specification)
    sizes = MiniatureSizes(**specification.pop("sizes"))
    folder = Path(snakemake.output.manifest).parent
    write_miniature(folder, sizes=sizes, only=snakemake.params.only, **specification)


def fetch_file(snakemake: Snakemake) -> None:
    from mbert_atlas.sources.fetch import fetch

    fetch(snakemake.wildcards.path, snakemake.output[0], _sources(snakemake))


def fetch_encoder(snakemake: Snakemake) -> None:
    from mbert_atlas.sources.fetch import fetch_snapshot

    hub, sources = snakemake.params.hub, _sources(snakemake)
    fetch_snapshot(hub["repository"], hub["revision"], snakemake.output[0], sources)


def fetch_all(snakemake: Snakemake) -> None:
    from mbert_atlas.sources.batch import fetch_all

    paths, snapshots = snakemake.params.paths, snakemake.params.snapshots
    fetch_all(paths, snapshots, snakemake.config["downloads"], _sources(snakemake))


def check_all(snakemake: Snakemake) -> None:
    from mbert_atlas.errors import AtlasError
    from mbert_atlas.sources.batch import check_all

    paths, snapshots = snakemake.params.paths, snakemake.params.snapshots
    sources = _sources(snakemake, notes=False)
    findings = check_all(paths, snapshots, snakemake.config["downloads"], sources)
    if lacking := sum(not one.is_usable for one in findings):
        raise AtlasError(f"{lacking} of {len(findings)} sources cannot be had, see above.")


def _sources(snakemake: Snakemake, notes: bool = True) -> Any:
    from mbert_atlas.sources.fetch import Sources
    from mbert_atlas.sources.register import Register

    config = snakemake.config
    return Sources(
        Register.read(ROOT / "resources/sources.yaml"),
        config.get("mirror"),
        config["offline"],
        config["downloads"],
        config["exact_dumps"],
        config.get("contact"),
        notes,
    )

from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.config.miniature import MiniatureSizes
    from mbert_atlas.miniature.writing import write_miniature

    specification = snakemake.params.specification
    write_miniature(
        Path(snakemake.output.manifest).parent,
        languages=specification["languages"],
        seed=specification["seed"],
        sizes=MiniatureSizes(**specification["sizes"]),
        only=snakemake.params.only,
        lending=specification["lending"],
    )


run(main, snakemake)

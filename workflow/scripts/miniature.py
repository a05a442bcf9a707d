from pathlib import Path

from atlas_job import run


def main(snakemake):
    from mbert_atlas.miniature import MiniatureSizes, write_miniature

    specification = snakemake.params.specification
    write_miniature(
        Path(snakemake.output.manifest).parent,
        languages=specification["languages"],
        seed=specification["seed"],
        sizes=MiniatureSizes(**specification["sizes"]),
    )


run(main, snakemake)

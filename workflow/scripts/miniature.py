import shutil
from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.miniature import MiniatureSizes, write_miniature

    specification = snakemake.params.specification
    folder = Path(snakemake.output.manifest).parent
    shutil.rmtree(folder)  # Snakemake made it, and leaves files of an older miniature in it
    write_miniature(
        folder,
        languages=specification["languages"],
        seed=specification["seed"],
        sizes=MiniatureSizes(**specification["sizes"]),
        only=snakemake.params.only,
        lending=specification["lending"],
    )


run(main, snakemake)

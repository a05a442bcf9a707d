from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.encoders.shipping import take_shipped

    take_shipped(Path(snakemake.params.folder), Path(snakemake.output[0]))


run(main, snakemake)

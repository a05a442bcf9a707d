from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.encoders.shipping import take_shipped

    take_shipped(Path(snakemake.params.folder), Path(snakemake.output[0]))


run(main, snakemake)

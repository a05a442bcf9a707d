from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.encoders.shipping import take_shipped

    take_shipped(Path(snakemake.params.folder), snakemake.output[0])

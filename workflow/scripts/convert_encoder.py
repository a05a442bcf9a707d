from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.encoders.conversion import convert_encoder

    convert_encoder(Path(snakemake.input[0]), Path(snakemake.output[0]))

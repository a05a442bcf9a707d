from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.alignment.shuffled import shuffle_pairs

    shuffle_pairs(Path(snakemake.input[0]), Path(snakemake.output[0]))

from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.scorecard.interactive import write_library

    write_library(Path(snakemake.output.script), Path(snakemake.output.style))

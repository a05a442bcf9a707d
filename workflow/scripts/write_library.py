from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.scorecard.interactive import write_library

    write_library(snakemake.output.script, snakemake.output.style)

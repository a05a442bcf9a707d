"""The script of every rule: it calls the function in `workflow/jobs` that the rule names."""

from workflow.job import run

run(snakemake)

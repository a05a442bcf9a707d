#!/bin/bash
# Snakemake itself as a job, for runs of days: sbatch slurm/head.sh all
#SBATCH --job-name=mbert-atlas-head
#SBATCH --time=3-00:00:00
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --output=head-%j.log
# Five minutes before the end, as Ctrl-C would: it cancels its jobs, which save their state, and ends.
#SBATCH --signal=B:INT@300
. .venv/bin/activate
# Snakemake takes the place of this shell, so that it gets the signal.
exec snakemake --profile slurm "$@"

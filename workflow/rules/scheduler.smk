# What happens when a run starts and when it fails. On Snakemake's own work docs/footguns.md tells more, benchmarks/workflow.py measures it.

from workflow.slurm import install
from workflow.supervision import supervise

if workflow.is_main_process:
    install()  # the SLURM executor that survives what clusters do


onstart:
    supervise(workflow, logger, RESULTS)
    keep_weights_of_single_targets()
    require_sources()


onerror:
    tell_what_was_not_made()

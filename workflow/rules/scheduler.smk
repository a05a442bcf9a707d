# What happens when a run starts and when it fails. On Snakemake's own work docs/footguns.md tells more, benchmarks/workflow.py measures it.

from workflow.slurm import install
from workflow.supervision import supervise

if workflow.is_main_process:
    install()  # the SLURM executor that survives what clusters do


onstart:
    # Its rate limiter leaves one more timer, a thread, with every job that ends, and each wakes the
    # whole schedule once a second. No option switches it off; without a limiter there are no timers.
    workflow.scheduler.job_rate_limiter = None
    supervise(workflow, logger, RESULTS)
    keep_weights_of_single_targets()
    require_sources()


onerror:
    tell_what_was_not_made()

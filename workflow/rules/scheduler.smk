# Snakemake's own work. docs/footguns.md tells more, benchmarks/workflow.py measures it.

from workflow.supervision import supervise


onstart:
    # Its rate limiter leaves one more timer, a thread, with every job that ends, and each wakes the
    # whole schedule once a second. No option switches it off; without a limiter there are no timers.
    workflow.scheduler.job_rate_limiter = None
    supervise(workflow, logger, RESULTS)

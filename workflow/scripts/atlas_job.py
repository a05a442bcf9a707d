"""Set up one job: everything it says goes to its log, mistakes of the user to one sentence."""

import gc
import logging
import os
import sys
import time
import traceback


def run(main, snakemake):
    """Call ``main(snakemake)`` with output, warnings and tracebacks in ``snakemake.log``.

    Snakemake has set the thread count of OpenMP and BLAS already; the tokenizers' own pool and the
    switches of the hub are set here, before ``main`` imports anything heavy.
    """
    # Imports make hundreds of thousands of lasting objects, which the collector would go through
    # again and again: a fifth of the time that torch and transformers take.
    gc.set_threshold(100_000, 20, 100)
    os.environ["RAYON_NUM_THREADS"] = str(snakemake.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    # Idle OpenMP threads that spin bring jobs on shared cores down to a fraction of their speed.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if "fetch_" not in snakemake.rule:  # a module may put a prefix before it
        os.environ["HF_HUB_OFFLINE"] = "1"
    terminal = os.fdopen(os.dup(2), "w")
    log = open(snakemake.log[0], "w", buffering=1, encoding="utf-8")  # noqa: SIM115 - until exit
    for stream in (1, 2):
        os.dup2(log.fileno(), stream)  # programs that the job starts write there too
    sys.stdout = sys.stderr = log
    logging.basicConfig(
        level=logging.INFO, stream=log, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.captureWarnings(True)
    started = time.monotonic()
    logging.info("rule %s, wildcards %s", snakemake.rule, dict(snakemake.wildcards))
    from mbert_atlas.errors import AtlasError

    try:
        main(snakemake)
    except AtlasError as error:
        logging.error("%s", error)
        print(f"{snakemake.rule}: {error}", file=terminal, flush=True)
        sys.exit(1)
    except Exception as error:
        traceback.print_exc(file=log)
        print(
            f"{snakemake.rule}: {type(error).__name__}: {error} (traceback in {snakemake.log[0]})",
            file=terminal,
            flush=True,
        )
        sys.exit(1)
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        from mbert_atlas.scorecard.cost import GPU_NOTE

        logging.info(GPU_NOTE.format(count=torch.cuda.device_count()))
    logging.info("done in %.1f s", time.monotonic() - started)

from collections import Counter
from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.arrays import load_arrays
    from mbert_atlas.papers.tanti2021.measures import count_examples

    counts = Counter()
    for cell, path in zip(snakemake.params.cells, snakemake.input, strict=True):
        counts += count_examples(load_arrays(Path(path)), **cell)
    write_measurements(
        [
            {"task": task, "condition": part, "value": n, "protocol": protocol}
            for (task, part), n in counts.items()
            for protocol in snakemake.params.protocols
        ],
        snakemake.output[0],
        paper="tanti2021",
        artifact="appendixA",
        metric="n_items",
        model=snakemake.params.model,
    )


run(main, snakemake)

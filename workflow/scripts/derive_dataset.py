from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.corpora.jobs import DerivingJob
    from mbert_atlas.registry import resolve

    job = DerivingJob(
        snakemake.input.tables,
        snakemake.input.tokenizer or None,
        snakemake.params.dataset,
        snakemake.output.table,
        snakemake.output.get("card", Path()),
    )
    resolve(snakemake.params.derive)(job)

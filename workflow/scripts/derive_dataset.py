from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.corpora.jobs import DerivingJob
    from mbert_atlas.registry import resolve

    tokenizer = snakemake.input.tokenizer
    job = DerivingJob(
        [Path(path) for path in snakemake.input.tables],
        Path(tokenizer) if tokenizer else None,
        snakemake.params.dataset,
        Path(snakemake.output.table),
        Path(snakemake.output.get("card", "")),
    )
    resolve(snakemake.params.derive)(job)

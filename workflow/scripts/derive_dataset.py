from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.corpora.jobs import DerivingJob
    from mbert_atlas.registry import resolve

    tokenizer = snakemake.input.tokenizer
    resolve(snakemake.params.derive)(
        DerivingJob(
            [Path(path) for path in snakemake.input.tables],
            Path(tokenizer) if tokenizer else None,
            snakemake.params.dataset,
            Path(snakemake.output.table),
            Path(snakemake.output.get("card", "")),
        )
    )


run(main, snakemake)

from importlib import import_module
from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.corpora.jobs import DerivingJob

    tokenizer, card = snakemake.input.tokenizer, snakemake.output.get("card")
    module, _, function = snakemake.params.deriver.partition(":")
    derive = getattr(import_module(f"mbert_atlas.{module}"), function)
    derive(
        DerivingJob(
            [Path(path) for path in snakemake.input.tables],
            Path(tokenizer) if tokenizer else None,
            snakemake.params.dataset,
            Path(snakemake.output.table),
            Path(card) if card else None,
        )
    )


run(main, snakemake)

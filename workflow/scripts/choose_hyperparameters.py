from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.choice import choose_hyperparameters

    choose_hyperparameters(
        snakemake.params.draws,
        list(map(Path, snakemake.input)),
        protocol=snakemake.wildcards.protocol,
        **snakemake.params.choose_by,
        output=Path(snakemake.output[0]),
    )


run(main, snakemake)

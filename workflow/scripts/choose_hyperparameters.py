from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.analysis.scores import choose_hyperparameters

    choose_hyperparameters(
        snakemake.params.draws,
        list(map(Path, snakemake.input)),
        protocol=snakemake.wildcards.protocol,
        **snakemake.params.choose_by,
        output=Path(snakemake.output[0]),
    )

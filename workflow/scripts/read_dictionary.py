from pathlib import Path

from workflow.scripts.atlas_job import run
from workflow.scripts.origins import origin, script_of


def main(snakemake):
    from mbert_atlas.corpora.dictionaries import read_dictionary

    path = snakemake.input[0]
    read_dictionary(
        Path(path),
        snakemake.wildcards.language,
        snakemake.output.table,
        snakemake.output.card,
        limit=snakemake.params.dataset["limit"],
        source=origin(snakemake, path),
        script=script_of(snakemake.wildcards.language),
    )


run(main, snakemake)

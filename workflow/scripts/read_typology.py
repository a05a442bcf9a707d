from pathlib import Path

from workflow.scripts.atlas_job import run
from workflow.scripts.origins import origin


def main(snakemake):
    from mbert_atlas.corpora.typology import read_typology
    from mbert_atlas.languages import Language

    read_typology(
        {Path(path).stem: Path(path) for path in snakemake.input},
        [Language(**row) for row in snakemake.params.languages],
        snakemake.output.table,
        snakemake.output.card,
        source=[origin(snakemake, path) for path in snakemake.input],
    )


run(main, snakemake)

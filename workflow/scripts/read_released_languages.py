from workflow.scripts.atlas_job import run
from workflow.scripts.origins import origin


def main(snakemake):
    from mbert_atlas.corpora.released_languages import read_released_languages

    (path,) = snakemake.input
    read_released_languages(
        path,
        snakemake.output.table,
        snakemake.output.card,
        languages=list(snakemake.params.dataset["sources"]),
        source=origin(snakemake, path),
    )


run(main, snakemake)

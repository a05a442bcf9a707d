from workflow.scripts.atlas_job import run
from workflow.scripts.origins import origins


def main(snakemake):
    from mbert_atlas.corpora.wikipedia import extract_paragraphs

    dataset = snakemake.params.dataset
    (sources,) = dataset["sources"].values()
    (source,) = sources
    extract_paragraphs(
        source["path"],
        snakemake.wildcards.language,
        snakemake.output.table,
        snakemake.output.card,
        minimum_characters=dataset["minimum_characters"],
        processes=snakemake.threads,
        source=origins(snakemake, source),
    )


run(main, snakemake)

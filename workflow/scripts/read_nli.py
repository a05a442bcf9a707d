from atlas_job import run
from language_by_language import read_languages


def main(snakemake):
    from mbert_atlas.corpora.nli import read_nli

    def read(language, source, dataset, output, card):
        read_nli(
            source["path"],
            source["format"],
            language,
            dataset["split"],
            output,
            card,
            labels_from=source["partners"][0] if source["partners"] else None,
            limit=dataset["limit"],
        )

    read_languages(snakemake, read)


run(main, snakemake)

from workflow.scripts.atlas_job import run
from workflow.scripts.origins import origins, read_languages, script_of


def main(snakemake):
    from mbert_atlas.corpora.nli import read_nli

    def read(language, sources, dataset, output, card):
        (source,) = sources
        read_nli(
            source["path"],
            source["format"],
            language,
            dataset["split"],
            output,
            card,
            labels_from=source["partners"][0] if source["partners"] else None,
            source=origins(snakemake, source),
            script=script_of(language),
        )

    read_languages(snakemake, read)


run(main, snakemake)

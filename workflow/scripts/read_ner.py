from workflow.scripts.atlas_job import run
from workflow.scripts.origins import origins, read_languages, script_of


def main(snakemake):
    from mbert_atlas.corpora.ner import read_ner

    def read(language, sources, dataset, output, card):
        (source,) = sources
        read_ner(
            source["path"],
            source["format"],
            language,
            dataset["split"],
            output,
            card,
            limit=dataset["limit"],
            seed=dataset["sample_seed"],
            source=origins(snakemake, source),
            script=script_of(language),
        )

    read_languages(snakemake, read)


run(main, snakemake)

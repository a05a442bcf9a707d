from workflow.scripts.atlas_job import run
from workflow.scripts.origins import origins, read_languages, script_of


def main(snakemake):
    from mbert_atlas.corpora.qa import read_qa

    def read(language, sources, dataset, output, card):
        (source,) = sources
        context, question = {
            "same": (language, None),
            "target": ("en", language),
            "english": (language, "en"),
        }[dataset["questions"]]
        read_qa(
            source["path"],
            source["format"],
            context,
            dataset["split"],
            output,
            card,
            question_language=question,
            limit=dataset["limit"],
            seed=dataset["sample_seed"],
            source=origins(snakemake, source),
            script=script_of(context),
            question_script=script_of(question or context),
        )

    read_languages(snakemake, read)


run(main, snakemake)

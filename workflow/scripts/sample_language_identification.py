from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.corpora.wikipedia import sample_language_identification

    dataset = snakemake.params.dataset
    sample_language_identification(
        {Path(path).stem: Path(path) for path in snakemake.input.paragraphs},
        snakemake.input.tokenizer or None,
        snakemake.output.table,
        snakemake.output.card,
        seed=dataset["seed"],
        per_language=dataset["limit"],
        minimum_per_language=dataset["minimum_per_language"],
        fractions=dataset["fractions"],
        source={
            "dataset": dataset["paragraphs"],
            "licence": "see the cards of the paragraphs",
            "citation": "see the cards of the paragraphs",
        },
    )


run(main, snakemake)

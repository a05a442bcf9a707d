from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.retrieval import retrieve_words

    retrieve_words(
        Path(snakemake.input.dictionary),
        Path(snakemake.input.english),
        Path(snakemake.input.other),
        Path(snakemake.output[0]),
    )


run(main, snakemake)

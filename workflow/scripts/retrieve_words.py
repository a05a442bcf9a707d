from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.analysis.retrieval import retrieve_words

    retrieve_words(
        Path(snakemake.input.dictionary),
        Path(snakemake.input.english),
        Path(snakemake.input.other),
        Path(snakemake.output[0]),
    )

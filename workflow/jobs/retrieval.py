"""Jobs of the rules in `workflow/rules/retrieval.smk`."""

from pathlib import Path

from workflow.job import Snakemake


def find_word_contexts(snakemake: Snakemake) -> None:
    from mbert_atlas.representations.word_contexts import find_word_contexts

    find_word_contexts(
        dictionaries=[Path(path) for path in snakemake.input.dictionaries],
        side=snakemake.params.side,
        language=snakemake.wildcards.language,
        texts=Path(snakemake.input.texts),
        tokenizer_dir=Path(snakemake.input.tokenizer),
        output=Path(snakemake.output[0]),
        **snakemake.params.options,
    )


def word_vectors(snakemake: Snakemake) -> None:
    from mbert_atlas.representations.word_vectors import word_vectors

    word_vectors(
        encoder=Path(snakemake.input.encoder),
        store=Path(snakemake.input.contexts),
        output=Path(snakemake.output[0]),
    )


def static_word_vectors(snakemake: Snakemake) -> None:
    from mbert_atlas.representations.static_word_vectors import static_word_vectors

    static_word_vectors(
        static=Path(snakemake.input.static),
        tokenizer_dir=Path(snakemake.input.tokenizer),
        dictionaries=[Path(path) for path in snakemake.input.dictionaries],
        side=snakemake.params.side,
        language=snakemake.wildcards.language,
        output=Path(snakemake.output[0]),
    )


def retrieve_words(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.retrieval import retrieve_words

    retrieve_words(
        Path(snakemake.input.dictionary),
        Path(snakemake.input.english),
        Path(snakemake.input.other),
        Path(snakemake.output[0]),
    )

"""Jobs of the rules in `workflow/rules/alignment.smk`."""

from pathlib import Path

from workflow.job import Snakemake


def align(snakemake: Snakemake) -> None:
    from mbert_atlas.alignment.bitext import align
    from mbert_atlas.config.alignment import Alignment
    from mbert_atlas.corpora.gold_alignment import read_gold
    from mbert_atlas.files import write_json
    from mbert_atlas.languages import Language

    gold = []
    for source in snakemake.params.gold:
        paths = [Path(path) for path in (source["path"], *source["partners"])]
        language = Language(**source["language"])
        gold.extend(read_gold(paths, source["format"], language, source["first_word"]))
    card = align(
        snakemake.input.bitext,
        snakemake.output.pharaoh,
        gold=gold,
        options=Alignment(**snakemake.params.alignment),
        threads=snakemake.threads,
    )
    write_json(card, snakemake.output.scores)


def encode_word_pairs(snakemake: Snakemake) -> None:
    from mbert_atlas.alignment.pairs import encode_word_pairs, word_pairs

    options = snakemake.params.alignment
    tables = word_pairs(
        snakemake.input.bitext,
        snakemake.input.pharaoh,
        snakemake.output.card,
        held_out=options["held_out"],
        seed=0,  # the same sentences are kept apart from every run
        language=snakemake.wildcards.language,
        maximum_words=options["maximum_words"],
    )
    for part, table in zip(("train", "heldout"), tables, strict=True):
        encode_word_pairs(
            table,
            snakemake.input.tokenizer,
            snakemake.output[part],
            maximum_length=options["maximum_length"],
            units=snakemake.params.units,
        )


def shuffle_word_pairs(snakemake: Snakemake) -> None:
    from mbert_atlas.alignment.shuffled import shuffle_pairs

    shuffle_pairs(Path(snakemake.input[0]), Path(snakemake.output[0]))

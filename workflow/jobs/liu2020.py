"""Jobs of the rules in `workflow/rules/liu2020.smk`."""

from pathlib import Path

from workflow.job import Snakemake, options_of


def encode_parallel(snakemake: Snakemake) -> None:
    from mbert_atlas.encoding.texts import encode_parallel
    from mbert_atlas.files import read_parquet

    encode_parallel(
        [read_parquet(path) for path in snakemake.input.tables],
        snakemake.params.languages,
        Path(snakemake.input.tokenizer),
        Path(snakemake.output[0]),
        max_length=snakemake.params.max_length,
    )


def translate_tokens(snakemake: Snakemake) -> None:
    from mbert_atlas.files import write_parquet
    from mbert_atlas.papers.liu2020.token_translation import translate_tokens

    table = translate_tokens(
        Path(snakemake.input.encoder),
        Path(snakemake.input.sentences),
        Path(snakemake.input.means),
        source=snakemake.wildcards.source,
        target=snakemake.wildcards.target,
        head=Path(snakemake.input.head) if snakemake.input.head else None,
        **options_of(snakemake),
    )
    write_parquet(table, snakemake.output[0])


def sample_translations(snakemake: Snakemake) -> None:
    from mbert_atlas.arrays import load_arrays
    from mbert_atlas.files import read_parquet, write_json
    from mbert_atlas.papers.liu2020.measures import samples
    from mbert_atlas.tokenizer import open_tokenizer

    tables = [read_parquet(path).to_pandas() for path in snakemake.input.translations]
    facts = samples(
        load_arrays(snakemake.input.sentences),
        open_tokenizer(snakemake.input.tokenizer),
        dict(zip(snakemake.params.shown, tables, strict=True)),
        **options_of(snakemake),
    )
    write_json(facts, Path(snakemake.output[0]))


def classify_shifted(snakemake: Snakemake) -> None:
    from mbert_atlas.files import write_parquet
    from mbert_atlas.papers.liu2020.shifted_classification import classify_shifted

    examples = map(Path, snakemake.input.examples)
    table = classify_shifted(
        Path(snakemake.input.model),
        dict(zip(snakemake.params.datasets, examples, strict=True)),
        Path(snakemake.input.means),
        protocol=snakemake.wildcards.protocol,
        seed=int(snakemake.wildcards.seed),
        **snakemake.params.shift,
    )
    write_parquet(table, snakemake.output[0])

"""Jobs of the rules in `workflow/rules/encoders.smk`."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from workflow.job import Snakemake, options_of


def train_tokenizer(snakemake: Snakemake) -> None:
    pretraining = snakemake.params.pretraining
    most = pretraining["texts_per_language"]
    by_language = _texts_by_language(snakemake.input.texts).values()
    texts = chain.from_iterable(islice(texts, most) for texts in by_language)
    where, size = Path(snakemake.output[0]), pretraining["vocabulary_size"]
    if pretraining["architecture"] == "bert":
        from mbert_atlas.encoders.wordpiece import train_wordpiece

        train_wordpiece(texts, where, size, limit_alphabet=pretraining["alphabet_size"])
    else:
        from mbert_atlas.encoders.unigram import train_unigram

        train_unigram(texts, where, size)


def extend_encoder(snakemake: Snakemake) -> None:
    from mbert_atlas.config.training import Extension
    from mbert_atlas.encoders.extension import extend_vocabulary

    changed = snakemake.params.changed
    extend_vocabulary(
        Extension(**changed["extension"]),
        Path(snakemake.input.encoder),
        chain.from_iterable(_texts_by_language(snakemake.input.texts).values()),
        Path(snakemake.output[0]),
        seed=changed["seed"],
    )


def encode_pretraining_texts(snakemake: Snakemake) -> None:
    from mbert_atlas.encoding.pretraining import encode_texts

    encode_texts(
        _texts_by_language(snakemake.input.texts),
        snakemake.input.tokenizer,
        Path(snakemake.output[0]),
        **snakemake.params.pretraining,
    )


def start_embeddings(snakemake: Snakemake) -> None:
    from mbert_atlas.encoders.aligned_start import start_embeddings

    start_embeddings(
        [Path(path) for path in snakemake.input.bitexts],
        snakemake.input.tokenizer,
        Path(snakemake.output[0]),
        **options_of(snakemake),
    )


def pretrain(snakemake: Snakemake) -> None:
    from mbert_atlas.config.training import MaskedTraining, Pretraining
    from mbert_atlas.training.pretraining import pretrain

    inputs, encoder = snakemake.input, snakemake.params.encoder
    section = encoder["scratch"] or encoder["changed"]
    pretrain(
        Pretraining(**section["pretraining"])
        if encoder["scratch"]
        else MaskedTraining(**section["training"]),
        Path(inputs.tokenizer),
        Path(inputs.tokens),
        Path(snakemake.output[0]),
        seed=section["seed"],
        state_dir=Path(snakemake.params.state),
        start=Path(inputs.start) if inputs.start else None,
    )


def fit_head(snakemake: Snakemake) -> None:
    from mbert_atlas.config.training import MaskedTraining
    from mbert_atlas.files import write_json
    from mbert_atlas.training.head_fitting import fit_head

    card = fit_head(
        MaskedTraining(**snakemake.params.training),
        Path(snakemake.input.encoder),
        Path(snakemake.input.tokens),
        Path(snakemake.output[0]),
        seed=snakemake.params.seed,
        state_dir=Path(snakemake.params.state),
    )
    write_json(card, Path(snakemake.output.card))


def predict_masked(snakemake: Snakemake) -> None:
    from mbert_atlas.config.training import MaskedTraining
    from mbert_atlas.files import write_parquet
    from mbert_atlas.training.head_predictions import predict_masked

    table = predict_masked(
        MaskedTraining(**snakemake.params.training),
        Path(snakemake.input.encoder),
        Path(snakemake.input.tokens),
        seed=snakemake.params.seed,
        head=Path(snakemake.input.head) if snakemake.input.head else None,
    )
    write_parquet(table, snakemake.output[0])


def take_shipped_encoder(snakemake: Snakemake) -> None:
    from mbert_atlas.encoders.shipping import take_shipped

    take_shipped(Path(snakemake.params.folder), Path(snakemake.output[0]))


def ship_encoders(snakemake: Snakemake) -> None:
    from mbert_atlas.encoders.shipping import ship

    params = snakemake.params
    for encoder, (name, folder) in zip(snakemake.input, params.folders.items(), strict=True):
        ship(Path(encoder), Path(folder), params.specifications[name], params.code)


def _texts_by_language(paths: Iterable[str]) -> dict[str, Iterator[str]]:
    """Map each language to an iterator over the texts of its Parquet files."""
    from mbert_atlas.corpora.plain_text import texts_of

    texts: dict[str, Iterator[str]] = {}
    for path in map(Path, paths):
        texts[path.stem] = chain(texts.get(path.stem, ()), texts_of(path))
    return texts

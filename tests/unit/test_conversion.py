"""Tokenizers in other forms than tokenizer.json, converted once; and words split as in texts."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import sentencepiece
from test_encoder_families import config_of
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoModel

from mbert_atlas.encoders.conversion import convert_encoder
from mbert_atlas.encoders.folders import check_folder, facts_of
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.encoding.tags import continuation_ids
from mbert_atlas.errors import DataError
from mbert_atlas.tokenizer import open_tokenizer, prefixed, word_prefix

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXTS = ["the cat sees a house", "дом и сад", "a house sees the cat", "犬と家"] * 20


def encoder(folder: Path, family: str, size: int) -> Path:
    config = config_of(family)
    config.vocab_size = size
    AutoModel.from_config(config).save_pretrained(folder)
    return folder


def with_vocabulary(folder: Path, words: list[str], family: str = "bert") -> Path:
    words = [*SPECIALS, *words]
    encoder(folder, family, len(words))
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    return folder


def with_model(folder: Path, family: str, name: str, **options: object) -> Path:
    """An encoder with a SentencePiece model alone."""
    stream = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS),
        model_writer=stream,
        vocab_size=50,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    size = sentencepiece.SentencePieceProcessor(model_proto=stream.getvalue()).vocab_size()
    encoder(folder, family, size + 4)  # <pad>, <mask> and the like
    (folder / name).write_bytes(stream.getvalue())
    return folder


@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_a_vocabulary_alone(tmp_path: Path, family: str) -> None:
    source = with_vocabulary(tmp_path / "source", ["the", "cat", "##s", "house"], family)
    check_folder(source)
    convert_encoder(source, tmp_path / "out")
    assert open_tokenizer(tmp_path / "out").encode("the cats house").tokens == [
        *["[CLS]", "the", "cat", "##s", "house", "[SEP]"]
    ]
    assert facts_of(tmp_path / "out").tokenizer == "WordPiece"
    load_encoder(tmp_path / "out")


@pytest.mark.parametrize(
    ("words", "settings", "tokens"),
    [
        (["the", "The", "cat"], None, ["The", "[UNK]"]),
        (["the", "cat"], None, ["the", "cat"]),
        (["the", "The", "cat"], {"do_lower_case": True}, ["the", "cat"]),
        (["the", "The", "cat"], {"do_lower_case": False}, ["The", "[UNK]"]),
        (["дом", "Дом", "the"], {"model_max_length": 512}, ["[UNK]", "[UNK]"]),
    ],
)
def test_case_is_kept_where_the_vocabulary_has_capitals(
    tmp_path: Path, words: list[str], settings: dict[str, object] | None, tokens: list[str]
) -> None:
    source = with_vocabulary(tmp_path / "source", words)
    if settings is not None:
        (source / "tokenizer_config.json").write_text(json.dumps(settings))
    convert_encoder(source, tmp_path / "out")
    assert open_tokenizer(tmp_path / "out").encode("The Cat").tokens[1:-1] == tokens


BERT_LIKE = {
    **{"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3},
    **{"pad_piece": "[PAD]", "bos_piece": "[CLS]", "eos_piece": "[SEP]", "unk_piece": "[UNK]"},
}


@pytest.mark.parametrize(
    ("family", "name", "options"),
    [
        ("xlm-roberta", "sentencepiece.bpe.model", {}),
        ("xlm-roberta", "tokenizer.model", {}),
        ("deberta-v2", "spm.model", BERT_LIKE),
    ],
)
def test_a_sentencepiece_model_alone(
    tmp_path: Path, family: str, name: str, options: dict[str, object]
) -> None:
    source = with_model(tmp_path / "source", family, name, **options)
    check_folder(source)
    convert_encoder(source, tmp_path / "out")
    tokenizer = open_tokenizer(tmp_path / "out")
    reference = sentencepiece.SentencePieceProcessor(model_file=str(source / name))
    for text in TEXTS[:4]:
        assert tokenizer.encode(text).tokens[1:-1] == reference.encode(text, out_type=str)
    facts = facts_of(tmp_path / "out")
    assert facts.tokenizer == facts_of(source).tokenizer == "Unigram"
    load_encoder(tmp_path / "out")


@pytest.mark.parametrize(
    ("family", "name", "sentence"),
    [
        ("bert", "sentencepiece.bpe.model", "only 5 subwords of the encoder's"),
        ("roberta", "sentencepiece.bpe.model", "only 5 subwords of the encoder's"),
        ("rembert", "sentencepiece.model", "has neither|adds 0 tokens to a text"),
        ("xlm-roberta", "spiece.model", "only 5 subwords"),
    ],
)
def test_a_tokenizer_of_another_class_is_rejected(
    tmp_path: Path, family: str, name: str, sentence: str
) -> None:
    source = with_model(tmp_path / "source", family, name)
    with pytest.raises(DataError, match=sentence):
        convert_encoder(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_no_sentencepiece_model_at_all(tmp_path: Path) -> None:
    source = encoder(tmp_path / "source", "xlm-roberta", 50)
    (source / "sentencepiece.bpe.model").write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match=r"sentencepiece.bpe.model: not a SentencePiece model; get"):
        convert_encoder(source, tmp_path / "out")


def byte_level(add_prefix_space: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    return trained(tokenizer)


def gemma_like() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    return trained(tokenizer)


def trained(tokenizer: Tokenizer) -> Tokenizer:
    from tokenizers.trainers import BpeTrainer

    names = ["<unk>", "<pad>", "<s>", "</s>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    options = {"special_tokens": names, "show_progress": False, "initial_alphabet": alphabet}
    tokenizer.train_from_iterator(TEXTS, BpeTrainer(vocab_size=400, **options))
    tokenizer.post_processor = processors.TemplateProcessing(
        "<s> $A </s>", "<s> $A </s> </s> $B </s>", [("<s>", 2), ("</s>", 3)]
    )
    return tokenizer


KINDS = {"bytes": byte_level(False), "space": byte_level(True), "gemma": gemma_like()}


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_split_as_in_the_text(kind: str, tmp_path: Path) -> None:
    tokenizer = KINDS[kind]
    words = ["the", "cat", "sees", "a", "house", "дом", "и", "сад"]
    prefix = word_prefix(tokenizer, tmp_path)
    encoding = tokenizer.encode(prefixed([words], prefix)[0], is_pretokenized=True)
    text = tokenizer.encode(" ".join(words))
    assert encoding.ids == text.ids
    assert [n for n in encoding.word_ids if n is not None] == sorted(
        n for n in encoding.word_ids if n is not None
    )
    firsts = [encoding.tokens[encoding.word_ids.index(n)] for n in range(1, len(words))]
    assert all(token.startswith(("\u0120", "\u2581")) for token in firsts)


def test_continuations_need_a_mark_at_every_word(tmp_path: Path) -> None:
    for kind in KINDS.values():
        with pytest.raises(DataError, match=r"not all words have ## or U\+2581"):
            continuation_ids(kind, tmp_path)


def test_encoders_that_are_not_supported_are_not_opened(tmp_path: Path) -> None:
    source = with_vocabulary(tmp_path / "source", ["the"])
    config = json.loads((source / "config.json").read_text()) | {"model_type": "albert"}
    (source / "config.json").write_text(json.dumps(config))
    with pytest.raises(DataError, match="'albert' is not supported: all its layers are one set"):
        load_encoder(source)

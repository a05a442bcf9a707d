"""Vocabularies of SentencePiece's unigram model, trained from text, as XLM-R's tokenizer."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

import sentencepiece
from transformers import XLMRobertaTokenizer

from mbert_atlas.errors import AtlasError
from mbert_atlas.files import atomic_directory

_FIRST = ("<s>", "<pad>", "</s>", "<unk>")
"""XLM-R's special pieces, by number; ``<mask>`` comes last of all."""


def train_unigram(
    texts: Iterable[str], output_dir: Path | str, vocabulary_size: int, *, coverage: float = 0.9995
) -> None:
    """Train a unigram vocabulary and write the folder of an XLM-R tokenizer with it.

    Kudo (2018), with SentencePiece's own trainer. The same texts give the same bytes.

    Args:
        texts: any number of texts, read once.
        output_dir: gets ``tokenizer.json`` and ``tokenizer_config.json``.
        vocabulary_size: largest number of pieces, special ones included.
        coverage: share of the characters that get a piece; others become ``<unk>``.

    Raises:
        AtlasError: if the texts cannot fill such a vocabulary.
    """
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=model,
            vocab_size=vocabulary_size - len(_FIRST) - 1 + 3,  # it counts <unk>, <s> and </s>
            model_type="unigram",
            character_coverage=coverage,
            hard_vocab_limit=False,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise AtlasError(
            f"SentencePiece cannot learn {vocabulary_size} pieces ({error}); "
            "lower vocabulary_size or give it more texts."
        ) from error
    trained = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    learnt = [(trained.id_to_piece(n), trained.get_score(n)) for n in range(3, len(trained))]
    tokenizer = XLMRobertaTokenizer(
        vocab=[*((piece, 0.0) for piece in _FIRST), *learnt, ("<mask>", 0.0)],
        model_max_length=512,
    )
    with atomic_directory(output_dir) as folder:
        tokenizer.save_pretrained(folder)

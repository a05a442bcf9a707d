"""Vocabularies of SentencePiece's unigram model, trained on texts, as tokenizers like XLM-R's."""

import io
from collections.abc import Iterable
from pathlib import Path

import sentencepiece
from transformers import XLMRobertaTokenizer

from mbert_atlas.errors import AtlasError
from mbert_atlas.files import atomic_directory

_FIRST = ("<s>", "<pad>", "</s>", "<unk>")
"""XLM-R's special tokens, by id; ``<mask>`` is the last one."""
_COVERAGE = 0.9995
"""Fraction of the characters in the vocabulary; others become ``<unk>``."""


def train_unigram(texts: Iterable[str], output_dir: Path | str, vocabulary_size: int) -> None:
    """Train a unigram vocabulary (Kudo 2018) and write the folder of an XLM-R tokenizer.

    The texts are read once; the same texts give the same bytes. ``vocabulary_size`` is the maximum
    number of subwords, special tokens included. Raises an AtlasError if the texts cannot fill such
    a vocabulary.
    """
    learnt = learn_unigram(texts, vocabulary_size)
    tokenizer = XLMRobertaTokenizer(
        vocab=[*((token, 0.0) for token in _FIRST), *learnt, ("<mask>", 0.0)],
        model_max_length=512,
    )
    with atomic_directory(output_dir) as folder:
        tokenizer.save_pretrained(folder)


def learn_unigram(texts: Iterable[str], vocabulary_size: int) -> list[tuple[str, float]]:
    """Train a unigram vocabulary; return its subwords with their scores, the best first.

    The scores are log probabilities, ``vocabulary_size`` and errors as in :func:`train_unigram`.
    """
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=model,
            vocab_size=vocabulary_size - len(_FIRST) - 1 + 3,  # it counts <unk>, <s> and </s>
            model_type="unigram",
            character_coverage=_COVERAGE,
            hard_vocab_limit=False,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise AtlasError(
            f"SentencePiece cannot learn {vocabulary_size} subwords ({error}); "
            "lower vocabulary_size or add texts."
        ) from error
    trained = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return [(trained.id_to_piece(n), trained.get_score(n)) for n in range(3, len(trained))]

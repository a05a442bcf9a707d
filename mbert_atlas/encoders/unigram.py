"""Vocabularies of SentencePiece's unigram model, trained on texts, as tokenizers like XLM-R's."""

import io
from collections.abc import Iterable
from pathlib import Path

import sentencepiece
from tokenizers import pre_tokenizers
from transformers import XLMRobertaTokenizer

from mbert_atlas.errors import AtlasError
from mbert_atlas.files import atomic_directory

_FIRST = ("<s>", "<pad>", "</s>", "<unk>")
"""XLM-R's special tokens, by id; ``<mask>`` is the last one."""
_ANY_LENGTH = 2**30
"""SentencePiece leaves out longer texts, in bytes; its default is 4,192, a long paragraph."""


def train_unigram(texts: Iterable[str], output_dir: Path | str, vocabulary_size: int) -> None:
    """Train a unigram vocabulary (Kudo 2018) and write the folder of an XLM-R tokenizer.

    The texts are read once; the same texts give the same bytes. ``vocabulary_size`` is the maximum
    number of subwords, special tokens included. Every character of the texts is one of them, so
    that none becomes ``<unk>``. Raises an AtlasError if there is no text or the characters do not
    fit the vocabulary.
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
    # Training has to see the words that the tokenizer will: it splits at any white space, and
    # normalises nothing, where SentencePiece by default turns a full-width comma into a comma.
    splitter, model = pre_tokenizers.WhitespaceSplit(), io.BytesIO()
    spaced = (" ".join(word for word, _ in splitter.pre_tokenize_str(text)) for text in texts)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=spaced,
            model_writer=model,
            vocab_size=vocabulary_size - len(_FIRST) - 1 + 3,  # it counts <unk>, <s> and </s>
            model_type="unigram",
            normalization_rule_name="identity",
            character_coverage=1.0,
            max_sentence_length=_ANY_LENGTH,
            hard_vocab_limit=False,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise AtlasError(
            f"SentencePiece cannot learn {vocabulary_size} subwords ({error}); "
            "raise vocabulary_size to hold every character, or add texts if there are none."
        ) from error
    trained = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return [(trained.id_to_piece(n), trained.get_score(n)) for n in range(3, len(trained))]

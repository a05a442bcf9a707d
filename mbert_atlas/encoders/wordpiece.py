"""WordPiece vocabularies, trained on texts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import BertTokenizer

from mbert_atlas.errors import AtlasError
from mbert_atlas.files import atomic_directory

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_LONGEST_WORD = 100
"""In characters; WordPiece turns longer words into [UNK]."""


def train_wordpiece(
    texts: Iterable[str],
    output_dir: Path | str,
    vocabulary_size: int,
    *,
    limit_alphabet: int = 1000,
) -> None:
    """Train a cased WordPiece vocabulary like BERT's and write a tokenizer folder.

    The library's trainer breaks ties between merges by the order of a randomly seeded hash table
    of characters, so words are counted and the alphabet is numbered here. The same texts give the
    same bytes.

    Texts are read once. There are at most ``vocabulary_size`` wordpieces, special tokens included,
    and the ``limit_alphabet`` most frequent characters; words with others become [UNK]. Raises an
    AtlasError if there is no text or the alphabet does not fit the vocabulary.
    """
    write_tokenizer(
        learn_wordpieces(count_words(texts), vocabulary_size, limit_alphabet), output_dir
    )


def count_words(texts: Iterable[str], *, lowercase: bool = False) -> Counter[str]:
    """Count the words of texts after BERT's normalisation and pre-tokenisation."""
    normaliser = normalizers.BertNormalizer(lowercase=lowercase)
    splitter = pre_tokenizers.BertPreTokenizer()
    words: Counter[str] = Counter()
    for text in texts:
        normal = normaliser.normalize_str(text)
        words.update(word for word, _ in splitter.pre_tokenize_str(normal))
    return words


def learn_wordpieces(words: Counter[str], vocabulary_size: int, limit_alphabet: int) -> list[str]:
    """Train WordPiece on counted words; return the wordpieces, special tokens first.

    Raises an AtlasError if there is no word or the alphabet does not fit the vocabulary.
    """
    if not words:
        raise AtlasError("WordPiece training has no text; check its input.")
    characters: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    by_frequency = sorted(characters, key=lambda character: (-characters[character], character))
    alphabet = sorted(by_frequency[:limit_alphabet])
    inner = {character for word in words for character in word[1:]}
    continuations = [f"##{character}" for character in sorted(inner & set(alphabet))]
    wordpieces = [*SPECIAL_TOKENS, *alphabet, *continuations]
    if len(wordpieces) > vocabulary_size:
        raise AtlasError(
            f"A vocabulary of {vocabulary_size} wordpieces cannot hold the {len(wordpieces)} "
            "single characters of the texts; raise vocabulary_size or lower limit_alphabet."
        )
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # the words are split already
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary_size,
        min_frequency=2,
        limit_alphabet=len(alphabet),
        initial_alphabet=alphabet,
        special_tokens=wordpieces,  # numbered as listed, before the trainer's hash table
        show_progress=False,
    )
    usable = (word for word in sorted(words) if len(word) <= _LONGEST_WORD)
    tokenizer.train_from_iterator((" ".join([word] * words[word]) for word in usable), trainer)
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__)


def write_tokenizer(wordpieces: Sequence[str], output_dir: Path | str) -> None:
    """Write the folder of BERT's cased tokenizer with wordpieces in the order of their ids."""
    tokenizer = BertTokenizer(
        vocab={wordpiece: number for number, wordpiece in enumerate(wordpieces)},
        do_lower_case=False,
        model_max_length=512,
    )
    with atomic_directory(output_dir) as folder:
        tokenizer.save_pretrained(folder)
        (folder / "vocab.txt").write_text("".join(f"{name}\n" for name in wordpieces), "utf-8")

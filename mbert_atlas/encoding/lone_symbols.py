"""Words whose first subword is SentencePiece's lone word-boundary symbol, without a character.

XLM-R's vocabulary has few subwords of Chinese and Japanese that begin a word, so that words of a
treebank become U+2581, which carries the label if the first subword does, and the rest.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mbert_atlas.arrays import Ragged, TokenStore
from mbert_atlas.encoding.tags import NO_LABEL, NO_PIECE

Flags = npt.NDArray[np.bool_]


def with_characters(store: TokenStore) -> TokenStore:
    """Return a store of words whose labels are at their first subwords that have characters.

    Of ``encode_tags`` it changes ``labels``, of ``encode_trees`` ``first_pieces``: by one place
    where the subword is a lone symbol and another one of the word follows. Stores of other tasks
    and tokenizers without such a symbol are returned as they are.
    """
    is_lone = _lone(store)
    if is_lone.any() and "words" in store.arrays:
        labels = store.ragged("labels")
        values = np.array(labels.values)
        (places,) = np.nonzero(is_lone & (values != NO_LABEL) & _word_goes_on(store))
        values[places + 1], values[places] = values[places], NO_LABEL
        moved = {"labels": Ragged(values, labels.offsets)}
        return replace(store, arrays={**store.arrays, **moved})
    if is_lone.any() and "first_pieces" in store.arrays:
        return replace(store, arrays={**store.arrays, "first_pieces": _moved(store, is_lone)})
    return store


def _lone(store: TokenStore) -> Flags:
    """Return which tokens of a store are lone symbols, in the order of all its ``input_ids``."""
    symbols = store.meta.get("options", {}).get("lone_symbols", [])
    return np.isin(store.ragged("input_ids").values, symbols)


def begins_of_words(
    store: TokenStore, begins: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[np.integer[Any]]:
    """Return places of first subwords among all ``input_ids``, moved past lone symbols."""
    moved: npt.NDArray[np.integer[Any]] = begins + (_lone(store) & _word_goes_on(store))[begins]
    return moved


def _word_goes_on(store: TokenStore) -> Flags:
    """Return after which tokens another one of their word follows; [SEP] ends a row."""
    words = store.ragged("words").values
    return np.append(words[1:] == words[:-1], False)


def _moved(store: TokenStore, is_lone: Flags) -> Ragged:
    """Return the first subwords of the words of trees, moved past lone symbols."""
    ids, first = store.ragged("input_ids"), store.ragged("first_pieces")
    row = np.repeat(np.arange(len(first)), first.lengths)
    exists = first.values != NO_PIECE
    place = ids.offsets[row] + np.maximum(first.values, 0)
    begins = np.zeros(len(ids.values) + 1, dtype=np.bool_)
    begins[place[exists]] = True
    begins[ids.offsets[1:] - 1] = True  # [SEP] belongs to no word
    moves = exists & is_lone[place] & ~begins[place + 1]
    return Ragged((first.values + moves).astype(first.values.dtype), first.offsets)

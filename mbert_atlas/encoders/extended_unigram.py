"""New subwords of one language for the unigram model of a tokenizer like XLM-R's.

A text is split into the subwords with the largest sum of scores, log probabilities. New ones come
from a unigram model of the language's texts. Their scores there are moved to the scale of the old
ones: probabilities over all languages are lower than within one, by a factor that subwords of both
models show. Only subwords in the scripts of the texts are added, so that texts in other scripts,
which may be quoted among them, keep their split; and characters that were unknown, of any kind.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from tokenizers import Tokenizer, models

from mbert_atlas.config.training import Extension
from mbert_atlas.corpora.scripts import script_of
from mbert_atlas.encoders.unigram import learn_unigram

_LEAST_SHARE = 0.1
"""Fraction of the letters from which a script is one of the texts': Japanese has three."""
_WORDS_AT_A_TIME = 10_000


@dataclass(frozen=True)
class NewSubwords:
    """What a vocabulary lacks of a language.

    ``size`` is the number of old subwords, ``last`` their highest id; ``tokenizer`` has the new
    ones, ``added``; ``spellings`` are the ids of old subwords that spell each of them, or none.
    """

    added: Sequence[str]
    size: int
    last: int
    tokenizer: dict[str, Any]
    spellings: Sequence[Sequence[int]]
    counts: Mapping[str, int]


def learn_new_unigrams(
    specification: Extension, tokenizer: dict[str, Any], texts: Iterable[str]
) -> NewSubwords:
    """Learn subwords from texts; take the most probable ones that a tokenizer lacks.

    ``tokenizer`` is the content of ``tokenizer.json``. Raises an AtlasError if there is no text or
    too little for ``vocabulary_size`` subwords.
    """
    old = dict(tokenizer["model"]["vocab"])
    before, words = Tokenizer.from_str(json.dumps(tokenizer)), Counter[str]()
    counted = _counting(texts, words, before)
    learnt = dict(learn_unigram(counted, specification.vocabulary_size))
    scripts = _scripts(words)
    missing = [name for name in learnt if name not in old]
    lacking = [name for name in missing if len(name) == 1 or _fits(name, scripts)]
    added = sorted(lacking, key=lambda name: (-learnt[name], name))[: specification.pieces]
    shift = _shift(old, learnt)
    model = tokenizer["model"]
    extended = [*model["vocab"], *([name, learnt[name] + shift] for name in added)]
    new = {**tokenizer, "model": {**model, "vocab": extended}}
    speller = models.Unigram([tuple(item) for item in model["vocab"]], model["unk_id"], False)
    unknown = model["unk_id"]
    return NewSubwords(
        added=added,
        size=len(model["vocab"]),
        last=len(model["vocab"]) - 1,
        tokenizer=new,
        spellings=[_spell(name, speller, unknown) for name in added],
        counts={
            "learnt": len(learnt),
            "known": sum(name in old for name in learnt),
            "words": words.total(),
            "pieces_before": _subwords(words, before),
            "pieces_after": _subwords(words, Tokenizer.from_str(json.dumps(new))),
        },
    )


def _counting(texts: Iterable[str], words: Counter[str], tokenizer: Tokenizer) -> Iterator[str]:
    """Yield normalised texts; count their words."""
    normaliser = tokenizer.normalizer
    for text in texts:
        normal = normaliser.normalize_str(text) if normaliser else text
        words.update(normal.split())
        yield normal


def _scripts(words: Counter[str]) -> set[str]:
    """Return the scripts that a fraction of the letters are in."""
    letters, counts = Counter[str](), Counter[str]()
    for word, times in words.items():
        for character in word:
            letters[character] += times
    for character, times in letters.items():
        if script := script_of(character):
            counts[script] += times
    return {script for script, times in counts.items() if times >= _LEAST_SHARE * counts.total()}


def _fits(name: str, scripts: set[str]) -> bool:
    """Return whether a subword has letters, all of them in the scripts."""
    its_scripts = {script for character in name if (script := script_of(character))}
    return bool(its_scripts) and its_scripts <= scripts


def _shift(old: Mapping[str, float], learnt: Mapping[str, float]) -> float:
    """Return what scores of a language's model lack to those of the old one: the median."""
    # P(subword) = P(language) P(subword | language) for subwords that no other language has.
    differences = [old[name] - score for name, score in learnt.items() if name in old]
    return min(median(differences), 0.0) if differences else 0.0


def _spell(name: str, model: Any, unknown: int) -> list[int]:
    """Split a new subword into old ones; return their ids, or none if a character is unknown."""
    ids = [token.id for token in model.tokenize(name)]
    return [] if unknown in ids else ids


def _subwords(words: Counter[str], tokenizer: Tokenizer) -> int:
    """Count the subwords of counted words."""
    names, total = list(words), 0
    for start in range(0, len(names), _WORDS_AT_A_TIME):
        some = names[start : start + _WORDS_AT_A_TIME]
        encodings = tokenizer.encode_batch(some, add_special_tokens=False)
        total += sum(
            words[name] * len(item.ids) for name, item in zip(some, encodings, strict=True)
        )
    return total

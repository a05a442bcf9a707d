"""Sentences: words with their tree, and for every word the part of the meaning it came from."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from typing import NamedTuple


@dataclass(slots=True, eq=False)
class Word:
    """One syntactic word under construction."""

    concept: str  # what it expresses; like the sources empty for mere grammar
    form: str
    upos: str  # like the relation as in Universal Dependencies
    relation: str
    sources: tuple[str, ...] = ()
    head: "Word | None" = None  # None for the root
    # "glued" if the next word follows without a space, "fused" if both are written as one token.
    joined: str = ""


class Token(NamedTuple):
    """An orthographic token: words ``start`` to ``stop - 1`` (0-based) of the sentence."""

    form: str
    start: int
    stop: int
    space_after: bool


@dataclass(frozen=True, eq=False)
class Sentence:
    """A sentence with its tree. Most are only read as text, so that the rest is made on demand."""

    words: Sequence[Word]
    spaced: bool  # whether the script puts spaces between words
    citation: Callable[[str], str]  # the lemma of a concept

    @cached_property
    def text(self) -> str:
        """The words as they are written."""
        parts = [word.form + " " * (self.spaced and not word.joined) for word in self.words]
        return "".join([*parts[:-1], self.words[-1].form])

    @cached_property
    def tokens(self) -> list[Token]:
        """Words, and what several of them are written as."""
        tokens, start = [], 0
        for stop, word in enumerate(self.words, 1):
            if word.joined != "fused":
                form = "".join(word.form for word in self.words[start:stop])
                space = self.spaced and word.joined != "glued" and stop < len(self.words)
                tokens.append(Token(form, start, stop, space))
                start = stop
        return tokens

    def rows(self) -> list[tuple[str, str, str, int, str]]:
        """Form, lemma, tag, head (counted from 1; 0 is the root) and relation of each word."""
        number = {id(word): index for index, word in enumerate(self.words, 1)}
        return [
            (
                word.form,
                self.citation(word.concept) if word.concept else word.form,
                word.upos,
                0 if word.head is None else number[id(word.head)],
                word.relation,
            )
            for word in self.words
        ]

    def aligned_units(self) -> list[tuple[str, set[str]]]:
        """Return tokens, or characters where no spaces are put, each with its sources."""
        return [
            (unit, set(chain(*(word.sources for word in self.words[token.start : token.stop]))))
            for token in self.tokens
            for unit in ([token.form] if self.spaced else token.form)
        ]

    def tokenised(self) -> str:
        """Return the units of :meth:`aligned_units`, with blanks between them."""
        return " ".join(unit for unit, _ in self.aligned_units())


def align(source: Sentence, target: Sentence) -> list[tuple[int, int]]:
    """Return the true links between the units of two sentences of one meaning, sorted."""
    ours, theirs = source.aligned_units(), target.aligned_units()
    pairs = product(enumerate(ours), enumerate(theirs))
    return [(i, j) for (i, (_, one)), (j, (_, other)) in pairs if one & other]


def gold_row(source: Sentence, target: Sentence) -> str:
    """Return a row of gold alignment in XL-WA's layout: tokens, tokens, 0-based Pharaoh links."""
    links = " ".join(f"{i}-{j}" for i, j in align(source, target))
    return f"{source.tokenised()}\t{target.tokenised()}\t{links}"


def conllu(sentence: Sentence, identifier: str, english: str | None = None) -> str:
    """Return a sentence in CoNLL-U, with the English that it translates, if any, as a comment."""
    rows = [f"# sent_id = {identifier}", f"# text = {sentence.text}"]
    rows += [] if english is None else [f"# text_en = {english}"]
    words = sentence.rows()
    for token in sentence.tokens:
        glued = not token.space_after and token is not sentence.tokens[-1]
        misc = "SpaceAfter=No" if glued else "_"
        if token.stop > token.start + 1:
            blank = "\t".join("_______")
            rows.append(f"{token.start + 1}-{token.stop}\t{token.form}\t{blank}\t{misc}")
            misc = "_"
        for number in range(token.start, token.stop):
            form, lemma, upos, head, relation = words[number]
            start = f"{number + 1}\t{form}\t{lemma}\t{upos}"
            rows.append(f"{start}\t_\t_\t{head}\t{relation}\t_\t{misc}")
    return lines([*rows, ""])


def lines(rows: Iterable[str]) -> str:
    """Return rows, each with its line end."""
    return "".join(row + "\n" for row in rows)

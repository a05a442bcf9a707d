"""Gold word alignments, for alignment error rates."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from mbert_atlas.corpora.cards import STRICT, BadRows
from mbert_atlas.corpora.lines import (
    ascii_words,
    numbered_columns,
    numbered_lines,
    numbered_rows,
    parallel_lines,
)
from mbert_atlas.corpora.scripts import require_script
from mbert_atlas.errors import DataError
from mbert_atlas.languages import Language

Link = tuple[int, int]
_FILES = {"xlwa": 1, "pharaoh": 2, "naacl": 3}  # how many files a format has
_NUMBERED = re.compile(r"\s*<s snum=\"?([0-9]+)\"?>(.*?)</s>\s*")


@dataclass(frozen=True)
class GoldSentence:
    """A sentence pair with its links (source word, target word), both counted from 0."""

    source_tokens: list[str]
    target_tokens: list[str]
    sure: set[Link] = field(default_factory=set)
    possible: set[Link] = field(default_factory=set)  # and the sure ones (Och and Ney 2003)


class _Link(NamedTuple):
    """A link as it is written in a line of a file."""

    line: int
    text: str
    words: Link  # as numbered in the file
    is_sure: bool


_Pairs = Iterator[tuple[GoldSentence, list[_Link]]]


def read_gold(
    paths: Path | Sequence[Path],
    format: str,
    language: Language | None = None,
    first_word: int | None = None,
) -> list[GoldSentence]:
    """Read gold alignments of English and a language, whose script is checked if it is given.

    ``xlwa`` is one file: English words, other words and links such as ``3-4`` in three
    tab-separated columns. ``pharaoh`` is two: ``English words ||| other words``, then the links of
    each line, where ``3p4`` is a possible one. Links of both count from ``first_word``, 0 or 1. If
    that is None, a file counts from 0 if it has a 0, and from 1 if it has the last word of a
    sentence and no 0. ``naacl`` is three files: source sentences and target sentences as
    ``<s snum=1> ... </s>``, then links ``snum source target [S|P]`` from 1, where 0 is the empty
    word and is ignored. Its few links past the end of a sentence (WPT-05 has one) are dropped, see
    :class:`BadRows`.

    Raises DataError for a link outside its sentence, links that may count from either, a malformed
    line, files that do not belong together, or another language; names file and line.
    """
    paths = [paths] if isinstance(paths, Path) else paths
    if len(paths) != _FILES.get(format):
        problem = f"{len(paths)} files do not make a gold alignment of this format"
        fix = "give " + ", ".join(f"{number} for {name}" for name, number in _FILES.items())
        raise DataError(", ".join(map(str, paths)), f"format {format}", problem, fix)
    pairs = list(_READERS[format](*paths))
    first_word = _first_word(pairs, paths[-1], format, first_word)
    inside, bad = 0, BadRows("links") if format == "naacl" else STRICT
    for sentence, links in pairs:
        n, m = len(sentence.source_tokens), len(sentence.target_tokens)
        for link in links:
            i, j = (number - first_word for number in link.words)
            with bad:
                if not (0 <= i < n and 0 <= j < m):
                    problem = f"link {link.text} lies outside its sentence of {n} and {m} words"
                    fix = "check that the files belong together, and where links count from"
                    fix += f" (`first_word`, here {first_word})" if format != "naacl" else ""
                    raise DataError(paths[-1], f"line {link.line}", problem, fix)
                inside += 1
                sentence.possible.add((i, j))
                if link.is_sure:
                    sentence.sure.add((i, j))
    bad.require_few(inside)
    sentences = [sentence for sentence, _ in pairs]
    if not sentences:
        raise DataError(paths[0], "", "no sentence in it", "fetch the file again")
    if language:
        fix, path = "are the sides exchanged? correct the source's path or language", paths[:2][-1]
        path = paths[0] if format == "pharaoh" else path
        english = (" ".join(sentence.source_tokens) for sentence in sentences)
        other = (" ".join(sentence.target_tokens) for sentence in sentences)
        require_script(english, "Latn", paths[0], "en", fix)
        require_script(other, language.script, path, language.code, fix)
    return sentences


def _first_word(
    pairs: Sequence[tuple[GoldSentence, list[_Link]]],
    path: Path,
    format: str,
    first_word: int | None,
) -> int:
    """Return the number of the first word in the links of a file, as requested or recognised."""
    if format == "naacl":
        if first_word == 0:
            problem, fix = "links of this format count from 1", "leave out `first_word`"
            raise DataError(path, f"format {format}", problem, fix)
        return 1
    numbers = [link.words for _, links in pairs for link in links]
    if first_word is not None or not numbers:
        return first_word or 0
    if any(0 in words for words in numbers):
        return 0
    for sentence, links in pairs:
        n, m = len(sentence.source_tokens), len(sentence.target_tokens)
        if any(link.words[0] == n or link.words[1] == m for link in links):
            return 1
    problem = "links may count from 0 or from 1: none has a 0, and none the last word of a sentence"
    raise DataError(path, "", problem, "write `first_word: 0` or `first_word: 1` in the dataset")


def _xlwa(path: Path) -> _Pairs:
    for number, (english, other, text) in numbered_columns(path, least=3, most=3, bad=STRICT):
        sentence = GoldSentence(ascii_words(english), ascii_words(other))
        yield sentence, _links(path, number, text, "-")


def _pharaoh(text: Path, links: Path) -> _Pairs:
    for number, line, linked in parallel_lines((text, ""), (links, "")):
        english, separator, other = f" {line} ".partition(" ||| ")
        if not separator:
            problem, fix = "no ' ||| ' between two sentences", "write it, or correct the format"
            raise DataError(text, f"line {number}", problem, fix)
        sentence = GoldSentence(ascii_words(english), ascii_words(other))
        yield sentence, _links(links, number, linked, "-p")


def _links(path: Path, number: int, text: str, signs: str) -> list[_Link]:
    """Return the links in a line: 3-4 is a sure one, and with the sign p, 3p4 a possible one."""
    links = []
    for item in ascii_words(text):
        if (match := re.fullmatch(f"([0-9]+)([{signs}])([0-9]+)", item)) is None:
            problem = f"{item!r} is not a link"
            raise DataError(path, f"line {number}", problem, "write links as 3-4")
        links.append(_Link(number, item, (int(match[1]), int(match[3])), match[2] == "-"))
    return links


def _naacl(source: Path, target: Path, links: Path) -> _Pairs:
    sources, targets = _numbered_sentences(source), _numbered_sentences(target)
    if sources.keys() != targets.keys():
        place = f"snum {min(sources.keys() ^ targets.keys())}"
        problem = f"is not in both this file and {source}"
        raise DataError(target, place, problem, "use files that belong together")
    by_sentence: dict[int, list[_Link]] = {snum: [] for snum in sources}
    for number, line in numbered_rows(links):
        fields = ascii_words(line)
        kind = fields[3] if len(fields) > 3 else "S"
        is_link = len(fields) in (3, 4, 5) and all(map(str.isdecimal, fields[:3]))
        if not is_link or kind not in ("S", "P") or int(fields[0]) not in by_sentence:
            problem = f"{line!r} is not a link of a sentence of {source.name}"
            fix = "write 'snum source target' and perhaps S or P"
            raise DataError(links, f"line {number}", problem, fix)
        snum, first, second = map(int, fields[:3])
        if first and second:  # 0 stands for the empty word
            link = _Link(number, f"{first} {second}", (first, second), kind == "S")
            by_sentence[snum].append(link)
    for snum, words in sources.items():
        yield GoldSentence(words, targets[snum]), by_sentence[snum]


def _numbered_sentences(path: Path) -> dict[int, list[str]]:
    sentences: dict[int, list[str]] = {}
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        match = _NUMBERED.fullmatch(line)
        if match is None or int(match[1]) in sentences:
            problem = "not a sentence <s snum=N> ... </s> with a unique number"
            raise DataError(path, f"line {number}", problem, "correct the line")
        sentences[int(match[1])] = ascii_words(match[2])
    return sentences


_READERS: dict[str, Callable[..., _Pairs]] = {"xlwa": _xlwa, "pharaoh": _pharaoh, "naacl": _naacl}

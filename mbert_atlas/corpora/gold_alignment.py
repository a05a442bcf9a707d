"""Gold word alignments, for alignment error rates."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from mbert_atlas.config.corpora.gold_alignment import Format
from mbert_atlas.corpora.lines import (
    ascii_words,
    numbered_lines,
    parallel_lines,
    split_columns,
)
from mbert_atlas.errors import DataError

_logger = logging.getLogger(__name__)

Link = tuple[int, int]
_FILES = {"xlwa": 1, "naacl": 3, "awesome": 2}
_LINK = re.compile(r"([0-9]+)([-p])([0-9]+)")
_NUMBERED = re.compile(r"\s*<s snum=\"?([0-9]+)\"?>(.*?)</s>\s*")


@dataclass(frozen=True)
class GoldSentence:
    """A sentence pair with its links (source word, target word), both counted from 0.

    ``possible`` holds the sure links too, as in the definition of the alignment error rate
    (Och and Ney 2003).
    """

    source_tokens: list[str]
    target_tokens: list[str]
    sure: set[Link] = field(default_factory=set)
    possible: set[Link] = field(default_factory=set)


@dataclass(frozen=True)
class _Found:
    """A link as written in a file."""

    line: int
    text: str
    link: Link
    sure: bool


def read_gold(
    paths: Path | str | Sequence[Path | str],
    format: Format,
) -> list[GoldSentence]:
    """Read gold alignments.

    The English-Hindi test set of WPT-05 has one link past the end of its sentence, so in ``naacl``
    such links are dropped with a warning while they are fewer than one in a hundred.

    Args:
        paths: the file, or the files in the order given here.
        format: ``xlwa``: one file, English words, other words and Pharaoh links from 0 in three
            tab-separated columns; ``naacl``: source sentences and target sentences as
            ``<s snum=1> ... </s>``, then links ``snum source target [S|P]`` from 1, where 0 is the
            empty word and is passed over; ``awesome``: ``source ||| target``, then links from 1,
            possible ones with ``p`` for the dash.

    Raises:
        DataError: for a link outside its sentence, a malformed line, or files of unequal length;
            names file and line.
    """
    files = [Path(paths)] if isinstance(paths, (str, Path)) else [Path(path) for path in paths]
    if format not in get_args(Format) or len(files) != _FILES[format]:
        raise DataError(
            ", ".join(map(str, files)),
            f"format {format}",
            f"{len(files)} files do not make a gold alignment of this format",
            "give " + ", ".join(f"{number} for {name}" for name, number in _FILES.items()),
        )
    readers: dict[str, Callable[..., Iterator[tuple[GoldSentence, list[_Found]]]]] = {
        "xlwa": _xlwa,
        "naacl": _naacl,
        "awesome": _awesome,
    }
    sentences, outside, links = [], list[DataError](), 0
    for sentence, found in readers[format](*files):
        links += len(found)
        for link in found:
            if _is_inside(sentence, link):
                sentence.possible.add(link.link)
                if link.sure:
                    sentence.sure.add(link.link)
            else:
                outside.append(_outside(sentence, link, files[-1]))
        sentences.append(sentence)
    if outside and (format != "naacl" or len(outside) * 100 >= links):
        raise outside[0]
    for error in outside:
        _logger.warning("%s The link is dropped.", error)
    if not sentences:
        raise DataError(files[0], "", "no sentence in it", "fetch the file again")
    return sentences


def _is_inside(sentence: GoldSentence, found: _Found) -> bool:
    source, target = found.link
    return 0 <= source < len(sentence.source_tokens) and 0 <= target < len(sentence.target_tokens)


def _outside(sentence: GoldSentence, found: _Found, path: Path) -> DataError:
    return DataError(
        path,
        f"line {found.line}",
        f"link {found.text} lies outside its sentence of {len(sentence.source_tokens)} and "
        f"{len(sentence.target_tokens)} words",
        "check that the files belong together and count links as their format says (from 0 or 1)",
    )


def _links(text: str, first: int, path: Path, number: int) -> list[_Found]:
    found = []
    for item in ascii_words(text):
        match = _LINK.fullmatch(item)
        if match is None:
            raise DataError(
                path, f"line {number}", f"{item!r} is not a link", "write links as 3-4 or 3p4"
            )
        link = (int(match[1]) - first, int(match[3]) - first)
        found.append(_Found(number, item, link, match[2] == "-"))
    return found


def _xlwa(path: Path) -> Iterator[tuple[GoldSentence, list[_Found]]]:
    for number, line in numbered_lines(path):
        english, other, links = split_columns(line, 3, path, number)
        yield GoldSentence(ascii_words(english), ascii_words(other)), _links(links, 0, path, number)


def _awesome(texts: Path, links: Path) -> Iterator[tuple[GoldSentence, list[_Found]]]:
    for number, text, found in parallel_lines((texts, None), (links, None)):
        sides = text.split("|||")
        if len(sides) != 2:
            raise DataError(
                texts, f"line {number}", "not of the form source ||| target", "correct the line"
            )
        source, target = map(ascii_words, sides)
        yield GoldSentence(source, target), _links(found, 1, links, number)


def _naacl(source: Path, target: Path, links: Path) -> Iterator[tuple[GoldSentence, list[_Found]]]:
    sources, targets = _numbered_sentences(source), _numbered_sentences(target)
    if sources.keys() != targets.keys():
        raise DataError(
            target,
            f"snum {min(sources.keys() ^ targets.keys())}",
            f"is not in both this file and {source}",
            "use files that belong together",
        )
    found: dict[int, list[_Found]] = {snum: [] for snum in sources}
    for number, line in numbered_lines(links):
        fields = ascii_words(line)
        kind = fields[3] if len(fields) > 3 else "S"
        is_link = len(fields) in (3, 4, 5) and all(map(str.isdecimal, fields[:3]))
        if not is_link or kind not in ("S", "P") or int(fields[0]) not in found:
            raise DataError(
                links,
                f"line {number}",
                f"{line!r} is not a link of a sentence of {source.name}",
                "write 'snum source target' and perhaps S or P",
            )
        snum, first, second = map(int, fields[:3])
        if first and second:  # 0 stands for the empty word
            text, link = f"{first} {second}", (first - 1, second - 1)
            found[snum].append(_Found(number, text, link, kind == "S"))
    for snum, words in sources.items():
        yield GoldSentence(words, targets[snum]), found[snum]


def _numbered_sentences(path: Path) -> dict[int, list[str]]:
    sentences: dict[int, list[str]] = {}
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        match = _NUMBERED.fullmatch(line)
        if match is None or int(match[1]) in sentences:
            raise DataError(
                path,
                f"line {number}",
                "not a sentence <s snum=N> ... </s> with a number of its own",
                "correct the line",
            )
        sentences[int(match[1])] = ascii_words(match[2])
    return sentences

"""Named entities of WikiANN (splits of Rahimi et al. 2019) and CoNLL-2003, one row a sentence."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast, get_args

import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.config.datasets import NamedEntitiesFormat
from mbert_atlas.corpora.cards import Source, write_card
from mbert_atlas.corpora.lines import (
    decoded_lines,
    numbered_lines,
    open_member,
    open_tar_member,
    open_zip_member,
    require_format,
    split_columns,
)
from mbert_atlas.corpora.samples import limited, sample_note, table_of
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_parquet
from mbert_atlas.schemas import TAGGED_SENTENCES

Format = NamedEntitiesFormat
"""How sentences are laid out in files.

``rahimi``: lines ``language:word<TAB>tag``, a blank line after each sentence; a file, or the file
named by the split in ``<language>.tar.gz``, alone or inside ``panx_dataset.zip``. ``panx``: lines
``word<TAB>tag``, plain or compressed (XTREME). ``conll2003``: lines of word, part of speech, chunk
and tag with spaces between, ``-DOCSTART-`` before each document; a file, or ``train.txt``,
``valid.txt`` (dev) or ``test.txt`` in a zip. Its tags, IOB1 as published, become IOB2.
"""
OUTSIDE = "O"
TYPES = ("LOC", "ORG", "PER")
TAGS = (OUTSIDE, *(f"{part}-{name}" for name in TYPES for part in "BI"))
MORE_TAGS = ("B-MISC", "I-MISC")
"""Tags of CoNLL-2003 that WikiANN does not have."""


@dataclass
class TaggedSentence:
    """A sentence with a tag for each word; ``line`` is where it begins in the file."""

    line: int
    forms: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)

    @property
    def stray(self) -> int:
        """How many ``I-`` tags continue no entity of their type, against IOB2."""
        before = (OUTSIDE, *self.tags)
        return sum(
            tag.startswith("I-") and last[2:] != tag[2:]
            for last, tag in zip(before, self.tags, strict=False)
        )


def read_ner(
    source_path: Path | str,
    format: Format,
    language: str,
    split: str,
    output: Path | str,
    card: Path | str,
    *,
    limit: int | None = None,
    seed: int | None = None,
    source: Source = None,
) -> None:
    """Read the sentences of one language and split.

    Tags are kept. The card counts ``I-`` tags that continue nothing (about one in 500
    words in Chinese and Japanese); seqeval takes each for the beginning of an entity.

    Args:
        source_path: a file in one of the formats below.
        format: see :data:`Format`.
        language: our language code.
        split: name of the split for the rows; selects the member of an archive.
        output: Parquet file with the columns of ``schemas.TAGGED_SENTENCES``; ids are the numbers
            of the sentences in the file, from 1.
        card: JSON file for the dataset card.
        limit: most sentences to keep; all if none.
        seed: seed for a random sample of ``limit`` sentences; without one, the first are kept.
        source: dataset, licence and citation for the card.

    Raises:
        DataError: for a wrong number of columns, an empty word, an unknown tag, the prefix of
            another language, a missing member, or no sentence; names file and line.
    """
    path = Path(source_path)
    sentences = _sentences(path, format, language, split)
    rows = [
        (str(number), language, split, sentence.forms, sentence.tags)
        for number, sentence in enumerate(sentences, 1)
    ]
    kept = limited(table_of(rows, TAGGED_SENTENCES), limit, seed, "ner", language, split)
    tags = Counter(tag for row in kept["ner_tags"].to_pylist() for tag in row)
    sizes = {"sentences read": len(sentences), "sentences": kept.num_rows, "words": tags.total()}
    types = sorted({*TYPES, *(tag[2:] for tag in tags if tag != OUTSIDE)})
    counts = sizes | {f"{name}: entities begun": tags[f"B-{name}"] for name in types}
    strays = sum(sentences[int(number) - 1].stray for number in kept["id"].to_pylist())
    notes = [sample_note(limit, seed)] if kept.num_rows < len(sentences) else []
    if strays:
        counts["I- tags that continue no entity"] = strays
        notes.append("I- tags that continue no entity are kept; seqeval begins an entity there")
    write_parquet(kept, output)
    write_card(
        card,
        dataset="CoNLL-2003" if format == "conll2003" else "WikiANN",
        language=language,
        files=[path],
        counts=counts,
        dropped={},
        source=source,
        notes=notes,
    )


def _sentences(path: Path, format: Format, language: str, split: str) -> list[TaggedSentence]:
    require_format(format, get_args(Format), path)
    if format == "rahimi":
        sentences = list(parse_tagged(*_rahimi_lines(path, language, split), language))
    elif format == "conll2003":
        member = {"dev": "valid"}.get(split, split) + r"\.txt"
        with open_member(path, member) as (place, content):
            lines = _conll_lines(decoded_lines(content, place), place)
            sentences = list(parse_tagged(lines, place, tags=(*TAGS, *MORE_TAGS)))
    else:
        sentences = list(parse_tagged(numbered_lines(path), path))
    if not sentences:
        mend = "fetch it again or correct the format"
        raise DataError(path, "", "there is no sentence in it", mend)
    return sentences


def _rahimi_lines(path: Path, language: str, split: str) -> tuple[Iterable[tuple[int, str]], str]:
    """Return the numbered lines of the split, read whole, and what to call their file."""
    member = re.escape(split)
    if path.suffix != ".zip":
        with open_member(path, member) as (place, content):
            return list(decoded_lines(content, place)), place
    with (
        open_zip_member(path, rf"{re.escape(language)}\.tar\.gz") as (archive, packed),
        gzip.open(packed) as unpacked,
        open_tar_member(cast(IO[bytes], unpacked), archive, member) as (place, content),
    ):
        return list(decoded_lines(content, place)), place


def _conll_lines(lines: Iterable[tuple[int, str]], path: Path | str) -> Iterator[tuple[int, str]]:
    """Yield lines as :func:`parse_tagged` takes them, in IOB2.

    In IOB1 ``B-`` stands only where an entity follows another of its type, so that ``I-`` after
    anything else begins one: ``I-PER I-PER B-PER O I-LOC`` is ``B-PER I-PER B-PER O B-LOC``.
    """
    before = OUTSIDE
    for number, line in lines:
        columns = line.split()
        if not columns or columns[0] == "-DOCSTART-":
            before = OUTSIDE
            yield number, ""
            continue
        if len(columns) != 4:
            problem = f"{len(columns)} columns where word, part of speech, chunk and tag belong"
            raise DataError(path, f"line {number}", problem, "correct it or get the file again")
        tag = columns[3]
        if tag.startswith("I-") and before[2:] != tag[2:]:
            tag = f"B-{tag[2:]}"
        before = tag
        yield number, f"{columns[0]}\t{tag}"


def entity_tags(table: pa.Table) -> tuple[str, ...]:
    """Return the tags that sentences are labelled with: WikiANN's, and more where there are some.

    Args:
        table: columns of ``schemas.TAGGED_SENTENCES``.
    """
    there = set(pc.unique(pc.list_flatten(table.column("ner_tags"))).to_pylist())
    return (*TAGS, *MORE_TAGS) if there.intersection(MORE_TAGS) else TAGS


def parse_tagged(
    lines: Iterable[tuple[int, str]],
    path: Path | str,
    prefix: str | None = None,
    tags: Collection[str] = TAGS,
) -> Iterator[TaggedSentence]:
    """Parse ``word<TAB>tag`` lines with blank lines between sentences.

    Args:
        lines: (number, line without its end).
        path: for errors.
        prefix: language code that stands before every word, with a colon; taken off.
        tags: those that may occur.

    Raises:
        DataError: see :func:`read_ner`.
    """
    sentence: TaggedSentence | None = None
    for number, line in lines:
        if not line:
            if sentence is not None:
                yield sentence
            sentence = None
            continue
        word, tag = split_columns(line, 2, path, number)
        if prefix is not None:
            found, colon, word = word.partition(":")
            if not colon or found != prefix:
                raise DataError(
                    path,
                    f"line {number}",
                    f"{line!r} does not begin with {prefix}:",
                    "correct the source's format or language",
                )
        word = word.strip()  # as XTREME's preparation does
        if not word:
            raise DataError(path, f"line {number}", "an empty word", "remove the line")
        if tag not in tags:
            raise DataError(
                path,
                f"line {number}",
                f"{tag!r} is not one of {', '.join(tags)}",
                "correct the tag",
            )
        if sentence is None:
            sentence = TaggedSentence(number)
        sentence.forms.append(word)
        sentence.tags.append(tag)
    if sentence is not None:
        yield sentence

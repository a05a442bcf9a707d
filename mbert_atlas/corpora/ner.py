"""Named entities of WikiANN (splits of Rahimi et al. 2019) and CoNLL-2003, one row a sentence.

Formats: ``rahimi``: lines ``language:word<TAB>tag``, a blank line after each sentence; a file, or
the file named by the split in ``<language>.tar.gz``, alone or inside ``panx_dataset.zip``, a zip or
tar. ``panx``: lines ``word<TAB>tag``, plain or compressed (XTREME). ``conll2003``: lines of word,
part of speech, chunk and tag with spaces between, ``-DOCSTART-`` before each document; a file, or
``train.txt``, ``valid.txt`` (dev) or ``test.txt`` in a zip. Its tags, IOB1 as published, become
IOB2.
"""

import gzip
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from typing import IO, cast

import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.config.corpora.kinds import NerFormat
from mbert_atlas.corpora import lines
from mbert_atlas.corpora.cards import STRICT, BadRows, Card
from mbert_atlas.corpora.jobs import Options, ReadingJob, Upstream, read_languages
from mbert_atlas.corpora.samples import limited, table_of
from mbert_atlas.corpora.scripts import require_script
from mbert_atlas.errors import DataError
from mbert_atlas.files import AGAIN
from mbert_atlas.schemas import TAGGED_SENTENCES

OUTSIDE = "O"
TYPES = ("LOC", "ORG", "PER")
TAGS = (OUTSIDE, *(f"{part}-{name}" for name in TYPES for part in "BI"))
MORE_TAGS = ("B-MISC", "I-MISC")  # tags of CoNLL-2003 that WikiANN does not have


@dataclass
class TaggedSentence:
    """A sentence with a tag for each word."""

    forms: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)

    @property
    def stray(self) -> list[int]:
        """The places of ``I-`` tags that continue no entity of their type, against IOB2."""
        pairs = enumerate(pairwise((OUTSIDE, *self.tags)))
        return [n for n, (before, tag) in pairs if tag[:2] == "I-" and before[2:] != tag[2:]]


def read(job: ReadingJob) -> None:
    """Read the sentences of all languages of a split, with ``schemas.TAGGED_SENTENCES``'s columns.

    Ids are the numbers of the usable sentences in the file, from 1. ``sample_seed`` draws ``limit``
    sentences at random; without one, the first are kept. Sentences are bad with an empty word, an
    unknown tag or the prefix of another language. The card counts ``I-`` tags that continue nothing
    (about one in 500 words in Chinese and Japanese).
    """
    read_languages(job, _read_language)


def _read_language(upstream: Upstream, options: Options) -> tuple[pa.Table, Card]:
    (file,), code, split = upstream.files, upstream.language.code, options["split"]
    limit, seed = options["limit"], options["sample_seed"]
    dataset = "CoNLL-2003" if file.format == "conll2003" else "WikiANN"
    card = Card(dataset, code, bad=BadRows("sentences"))
    sentences = _sentences(file.path, file.format, code, split, card.bad)
    texts = (" ".join(sentence.forms) for sentence in sentences)
    require_script(texts, upstream.language.script, file.path, code)
    rows = [
        (str(number), code, split, sentence.forms, sentence.tags)
        for number, sentence in enumerate(sentences, 1)
    ]
    kept = limited(table_of(rows, TAGGED_SENTENCES), limit, seed, card.notes, "ner", code, split)
    tags = Counter(pc.list_flatten(kept["ner_tags"]).to_pylist())
    card.counts["sentences read"], card.counts["sentences"] = len(sentences), kept.num_rows
    card.counts["words"] = tags.total()
    for name in sorted({*TYPES, *(tag[2:] for tag in tags if tag != OUTSIDE)}):
        card.counts[f"{name}: entities begun"] = tags[f"B-{name}"]
    if strays := sum(len(sentences[int(number) - 1].stray) for number in kept["id"].to_pylist()):
        card.counts["I- tags that continue no entity"] = strays
        note = "I- tags that continue no entity are kept; seqeval begins an entity there"
        card.notes.append(note)
    return kept, card


def _sentences(
    path: Path, format: str, language: str, split: str, bad: BadRows
) -> list[TaggedSentence]:
    lines.require_format(format, NerFormat, path)
    member = {"rahimi": split, "conll2003": {"dev": "valid"}.get(split, split) + ".txt"}
    with _open(path, format, language, re.escape(member.get(format, ""))) as (place, content):
        numbered = lines.decoded_lines(content, place, bad=None)
        sentences = list(parse_tagged(numbered, place, format, language, bad))
    if format == "conll2003":
        # In IOB1 B- stands only where an entity follows another of its type, so that I- after
        # anything else begins one: I-PER I-PER B-PER O I-LOC is B-PER I-PER B-PER O B-LOC.
        for sentence in sentences:
            for word in sentence.stray:
                sentence.tags[word] = f"B-{sentence.tags[word][2:]}"
    bad.require_few(len(sentences))
    if not sentences:
        fix = f"correct the format, or {AGAIN}"
        raise DataError(path, "", "there is no sentence in it", fix)
    return sentences


@contextmanager
def _open(path: Path, format: str, language: str, member: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Open a file or the member of an archive, which may be in a zip or tar of the archives."""
    if format != "rahimi" or path.suffix not in (".zip", ".tar"):
        with lines.open_member(path, member) as opened:
            yield opened
        return
    with (
        lines.open_member(path, rf"{re.escape(language)}\.tar\.gz") as (archive, packed),
        gzip.open(packed) as unpacked,
        closing(lines.tar_members(cast(IO[bytes], unpacked), archive, member)) as members,
    ):
        yield next(members)


def entity_tags(table: pa.Table) -> tuple[str, ...]:
    """Return the tags of a table of ``schemas.TAGGED_SENTENCES``: WikiANN's, or those and more."""
    present = set(pc.unique(pc.list_flatten(table.column("ner_tags"))).to_pylist())
    return (*TAGS, *MORE_TAGS) if present.intersection(MORE_TAGS) else TAGS


def _word_and_tag(
    line: str, path: Path | str, number: int, format: str, language: str
) -> tuple[str, str]:
    if format == "conll2003":
        lines.require_text(line, path, number)
        columns = lines.ascii_words(line)
        if len(columns) != 4:
            problem = f"{len(columns)} columns where word, POS, chunk and tag belong"
            raise DataError(path, f"line {number}", problem, "correct it or get the file again")
        return columns[0], columns[3]
    word, tag = lines.split_columns(line, 2, path, number)
    if format == "rahimi":
        prefix, colon, word = word.partition(":")
        if not colon or prefix != language:
            problem = f"{line!r} does not begin with {language}:"
            fix = "correct the source's format or language"
            raise DataError(path, f"line {number}", problem, fix)
    return word, tag


def parse_tagged(
    numbered: Iterable[tuple[int, str]],
    path: Path | str,
    format: str = "panx",
    language: str = "",
    bad: BadRows = STRICT,
) -> Iterator[TaggedSentence]:
    """Parse numbered lines of words with their tags, with blank lines between sentences.

    ``bad`` collects sentences that cannot be used; without it the first raises an error.
    """
    allowed = (*TAGS, *MORE_TAGS) if format == "conll2003" else TAGS
    if format == "conll2003":  # the beginnings of documents count as blank lines
        numbered = (
            (n, "" if line.startswith("-DOCSTART-") else line.strip()) for n, line in numbered
        )
    for is_blank, group in groupby(numbered, key=lambda item: not item[1]):
        if is_blank:
            continue
        with bad:
            sentence = TaggedSentence()
            for number, line in group:
                word, tag = _word_and_tag(line, path, number, format, language)
                if not word.strip():  # XTREME's preparation strips words
                    raise DataError(path, f"line {number}", "an empty word", "remove the line")
                if tag not in allowed:
                    problem = f"{tag!r} is not one of {', '.join(allowed)}"
                    raise DataError(path, f"line {number}", problem, "correct the tag")
                sentence.forms.append(word.strip())
                sentence.tags.append(tag)
            yield sentence

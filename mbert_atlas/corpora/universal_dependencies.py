"""Universal Dependencies treebanks: CoNLL-U, strictly, to one row a sentence.

There is a custom parser because the ``conllu`` library neither checks what is checked here nor
names lines, and reads English EWT several times more slowly; tests compare it with that library.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pyarrow as pa

from mbert_atlas.corpora import lines
from mbert_atlas.corpora.cards import STRICT, BadRows, Card
from mbert_atlas.corpora.jobs import Options, ReadingJob, Upstream, read_languages
from mbert_atlas.corpora.samples import table_of
from mbert_atlas.corpora.scripts import require_script
from mbert_atlas.errors import DataError
from mbert_atlas.files import open_bytes
from mbert_atlas.progress import track
from mbert_atlas.schemas import SENTENCES

_UPOS = "ADJ ADV INTJ NOUN PROPN VERB ADP AUX CCONJ DET NUM PART PRON SCONJ PUNCT SYM X"
UPOS = frozenset(_UPOS.split())
_RELATIONS = """
    acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse
    dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis
    punct reparandum root vocative xcomp"""
RELATIONS = tuple(_RELATIONS.split())
"""The 37 universal relations of UD v2, https://universaldependencies.org/u/dep/."""
_UNIVERSAL = frozenset(RELATIONS)
_OF_VERSION_1 = """
    auxpass csubjpass dobj foreign mwe name neg nsubjpass remnant"""
_NONE = "_"
_MULTIWORD = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")
_EMPTY_NODE = re.compile(r"([0-9]+)\.([1-9][0-9]*)")


@dataclass
class Sentence:
    """A sentence with its syntactic words."""

    line: int  # where it begins in the file
    comments: dict[str, str] = field(default_factory=dict)  # of the form key = value
    forms: list[str] = field(default_factory=list)
    upos: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)  # from 1, 0 for the root
    deprels: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its text, or else its words."""
        return self.comments.get("text") or " ".join(self.forms)


def read(job: ReadingJob) -> None:
    """Read the treebanks of all languages of a split, with the columns of ``schemas.SENTENCES``.

    Files are CoNLL-U, plain or compressed, or release archives (``.tgz``), of which all treebanks
    of the language are taken. Only syntactic words (integer ids) are kept, as in Tanti et al.
    (2021): multiword tokens (``1-2``) and empty nodes (``1.1``) are not. Sentences whose forms are
    all ``_`` (treebanks released without their text) are dropped; those that are no UD v2 CoNLL-U
    or repeat an id are bad. Ids are ``<treebank>-<sent_id>``; parallel treebanks share the latter.

    Raises DataError for a file that is cut short.
    """
    read_languages(job, _read_language)


def _read_language(upstream: Upstream, options: Options) -> tuple[pa.Table, Card]:
    language, split = upstream.language, options["split"]
    card = Card("Universal Dependencies", language.code, bad=BadRows("sentences"))
    card.notes.append("multiword tokens and empty nodes are skipped")
    rows = list(_rows(upstream, split, card))
    withheld = card.dropped.total()
    card.bad.require_few(len(rows) + withheld)
    paths = ", ".join(str(file.path) for file in upstream.files)
    if not rows:
        problem = f"no sentence left of {card.counts['sentences read']} (text withheld: {withheld})"
        raise DataError(paths, "", problem, "choose another treebank")
    require_script((row[4] for row in rows), language.script, paths, language.code)
    return table_of(rows, SENTENCES), card


def _rows(upstream: Upstream, split: str, card: Card) -> Iterator[tuple[Any, ...]]:
    code, counts = upstream.language.code, card.counts
    seen: set[str] = set()
    for place, numbered in _treebanks(upstream, split):
        name = place.rpartition("/")[2].removesuffix(".xz").removesuffix(".conllu")
        treebank = re.sub(r"^([a-z]+(_\w+)?)-ud-[a-z0-9-]+$", r"\1", name)
        for sentence in parse_conllu(numbered, place, card.bad):
            counts["sentences read"] += 1
            if set(sentence.forms) == {_NONE}:
                card.dropped["text withheld from the release"] += 1
                continue
            number = sentence.comments.get("sent_id") or counts["sentences read"]
            identifier = f"{treebank}-{number}"
            if identifier in seen:
                problem = f"sentence {identifier!r} was already read"
                fix = "give each treebank file once, with unique sent_id"
                card.bad.drop(_error(place, sentence.line, problem, fix))
                continue
            seen.add(identifier)
            counts.update((f"{treebank}: sentences", "sentences"))
            counts["words"] += len(sentence.forms)
            words = (sentence.forms, sentence.upos, sentence.heads, sentence.deprels)
            yield (identifier, code, treebank, split, sentence.text, *words)


def _treebanks(upstream: Upstream, split: str) -> Iterator[tuple[str, Iterable[tuple[int, str]]]]:
    """Yield the name and the numbered lines of each treebank of a language; read each at once."""
    for path in upstream.paths:
        if path.suffix != ".tgz":
            yield str(path), lines.numbered_lines(path, bad=None)
            continue
        # A split may be in parts (train-a).
        pattern = rf"{upstream.language.ud_code}_.*-ud-{split}.*\.conllu"
        with open_bytes(path) as stream:
            members = lines.tar_members(stream, path, pattern)
            for place, content in track(members, f"treebanks of {path.name}"):
                yield place, lines.decoded_lines(content, place, bad=None)
            while stream.read(1 << 20):
                pass  # the checksum is at the very end


def parse_conllu(
    numbered: Iterable[tuple[int, str]], path: Path | str, bad: BadRows = STRICT
) -> Iterator[Sentence]:
    """Parse numbered lines of CoNLL-U, https://universaldependencies.org/format.html, words only.

    ``bad`` collects sentences that cannot be used, without it the first raises an error: a line
    without ten columns or with an empty form, ids that do not run from 1, a tag that is not one of
    the 17, a relation that is not one of the 37, a head outside the sentence, no tree with one
    root, or no words.

    Raises DataError, with or without ``bad``, if the file ends inside a sentence.
    """
    rows: list[tuple[int, str]] = []
    for number, line in numbered:
        if line:
            rows.append((number, line))
        elif rows:
            with bad:
                yield _sentence(rows, path)
            rows = []
    if rows:
        problem = "the file ends inside a sentence (no blank line after it)"
        fix = "fetch the file again; it may have been cut short"
        raise _error(path, rows[-1][0], problem, fix)


def _sentence(rows: Sequence[tuple[int, str]], path: Path | str) -> Sentence:
    sentence, upto = Sentence(rows[0][0]), 0  # upto: last word that a multiword token covers
    for number, line in rows:
        words = len(sentence.forms)
        if line[0] == "#":
            if words:
                raise _error(path, number, "a comment inside a sentence", "end it by a blank line")
            lines.require_text(line, path, number)
            key, _, value = line[1:].partition("=")
            sentence.comments[key.strip()] = value.strip()
            continue
        columns = lines.split_columns(line, 10, path, number)
        if columns[0] == str(words + 1):
            _add_word(path, number, sentence, columns)
        else:
            upto = _other_row(path, number, columns[0], words, upto)
    _check(path, sentence, rows[-1][0] + 1, upto)
    return sentence


def _add_word(path: Path | str, number: int, sentence: Sentence, columns: Sequence[str]) -> None:
    form, tag, head, relation = columns[1], columns[3], columns[6], columns[7]
    if not form or not relation:
        raise _error(path, number, "an empty form or relation", "write _ where there is none")
    if tag == "CONJ":
        problem = "CONJ is a tag of UD v1, and v1 labels cannot be mixed with v2"
        fix = "use the treebank of a release from 2.0 on, or leave it out"
        raise _error(path, number, problem, fix)
    if tag not in UPOS:
        problem = f"{tag!r} is not one of the 17 UPOS tags"
        problem = "the word has no UPOS tag" if tag == _NONE else problem
        raise _error(path, number, problem, "correct the line")
    if relation.partition(":")[0] not in _UNIVERSAL:
        raise _wrong_relation(path, number, relation.partition(":")[0])
    if not (head.isascii() and head.isdigit()):
        raise _error(path, number, f"head {head!r} is not a number", "correct the line")
    sentence.forms.append(form)
    sentence.upos.append(tag)
    sentence.heads.append(int(head))
    sentence.deprels.append(relation)


def _wrong_relation(path: Path | str, number: int, relation: str) -> DataError:
    if relation in _OF_VERSION_1.split():
        fix = "use the treebank of a release from 2.0 on, or leave it out"
        return _error(path, number, f"{relation!r} is a relation of UD v1", fix)
    near = get_close_matches(relation.lower(), RELATIONS, 1)
    fix = f"did you mean {near[0]!r}?" if near else "correct the line"
    return _error(path, number, f"{relation!r} is not one of the 37 universal relations", fix)


def _check(path: Path | str, sentence: Sentence, end: int, upto: int) -> None:
    start, heads = sentence.line, sentence.heads
    if not heads:
        raise _error(path, end, "a sentence without words", "remove it")
    if upto > len(heads):
        raise _error(path, end, f"a multiword token reaches to word {upto}", "correct its range")
    if heads.count(0) != 1:
        raise _error(path, start, f"the sentence has {heads.count(0)} roots, not 1", "correct it")
    if max(heads) > len(heads):
        problem = f"a head is word {max(heads)} of {len(heads)} words"
        raise _error(path, start, problem, "correct the heads")
    ancestors = [0, *heads]
    for _ in range(len(heads).bit_length()):  # twice as far each time, in a tree to the root
        ancestors = [ancestors[word] for word in ancestors]
    if any(ancestors):
        raise _error(path, start, "the heads run in a circle", "correct the heads")


def _other_row(path: Path | str, number: int, word_id: str, words: int, upto: int) -> int:
    """Check a row that is not the next word; return the last word covered by multiword tokens."""
    if match := _MULTIWORD.fullmatch(word_id):
        first, last = int(match[1]), int(match[2])
        if first == words + 1 and last >= first and first > upto:
            return last
    elif (match := _EMPTY_NODE.fullmatch(word_id)) and int(match[1]) == words:
        return upto
    problem = f"id {word_id!r} where word {words + 1} was due"
    raise _error(path, number, problem, "number the words from 1 without gaps")


def _error(path: Path | str, number: int, problem: str, fix: str) -> DataError:
    return DataError(path, f"line {number}", problem, fix)

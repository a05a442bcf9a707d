"""Upstream's file formats, written with bytes that depend on nothing but their content."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from mbert_atlas.miniature.language import Language
from mbert_atlas.miniature.meanings import Clause, Meaning
from mbert_atlas.miniature.sentences import Sentence, align

Content = str | bytes | Mapping[str, str | bytes]
"""A text, bytes, or the texts or bytes of an archive by member name."""
_EPOCH = (2020, 4, 20, 12, 0, 0)
_EPOCH_SECONDS = 1_587_384_000  # the same moment in UTC


def write(path: Path, content: Content) -> None:
    """Write a file, archived or compressed according to its suffix; texts as UTF-8."""
    if isinstance(content, Mapping):
        packed = zipped(content) if path.suffix == ".zip" else tar_gzip(content)
    else:
        packed = _bytes(content)
        if path.suffix == ".gz":
            packed = gzip.compress(packed, mtime=0)  # without name and time of writing
        elif path.suffix == ".bz2":
            packed = bz2.compress(packed)
        elif path.suffix == ".xz":
            packed = lzma.compress(packed, preset=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed)


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    """Return a zip whose members all have one fixed date."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            member = zipfile.ZipInfo(name, _EPOCH)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            archive.writestr(member, content)
    return buffer.getvalue()


def tar_gzip(members: Mapping[str, str | bytes]) -> bytes:
    """Return a gzipped tar whose members all have one fixed date and no owner."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in members.items():
            member, packed = tarfile.TarInfo(name), _bytes(content)
            member.size, member.mtime = len(packed), _EPOCH_SECONDS
            archive.addfile(member, io.BytesIO(packed))
    return gzip.compress(buffer.getvalue(), mtime=0)


def lines(rows: Iterable[str]) -> str:
    """Return rows, each with its line end."""
    return "".join(row + "\n" for row in rows)


def conllu(sentence: Sentence, identifier: str, english: str | None = None) -> str:
    """Return a sentence in CoNLL-U, ten columns, with rows for multiword tokens.

    Args:
        sentence: the sentence.
        identifier: its ``sent_id``.
        english: the sentence that it translates, if any, as a comment.
    """
    rows = [f"# sent_id = {identifier}", f"# text = {sentence.text}"]
    rows += [] if english is None else [f"# text_en = {english}"]
    columns = (sentence.forms, sentence.lemmas, sentence.upos, sentence.heads, sentence.relations)
    words = list(zip(*columns, strict=True))
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


def gold_row(source: Sentence, target: Sentence) -> str:
    """Return a row of gold alignment in XL-WA's layout: tokens, tokens, 0-based Pharaoh links."""
    links = " ".join(f"{i}-{j}" for i, j in align(source, target))
    return f"{tokenised(source)}\t{tokenised(target)}\t{links}"


def tokenised(sentence: Sentence) -> str:
    """Return the units that word aligners see, with blanks between them."""
    return " ".join(unit for unit, _ in sentence.aligned_units())


def wikiann_rows(language: str, sentences: Iterable[Iterable[tuple[str, str]]]) -> str:
    """Return sentences of (word, tag) pairs in the layout of Rahimi et al.'s WikiANN."""
    return "".join(
        lines(f"{language}:{word}\t{tag}" for word, tag in sentence) + "\n"
        for sentence in sentences
    )


def asked(identifier: str, question: str, answers: Iterable[tuple[str, int]]) -> dict[str, object]:
    """Return a question of SQuAD 1.1 with its answers, each a text and where it starts."""
    entries = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": identifier, "question": question, "answers": entries}


def squad_json(
    articles: Iterable[tuple[str, Iterable[tuple[str, Sequence[dict[str, object]]]]]],
) -> str:
    """Return a file in the layout of SQuAD 1.1.

    Args:
        articles: title and paragraphs of each, these as context and questions (:func:`asked`).
    """
    data = [
        {
            "title": title,
            "paragraphs": [{"context": text, "qas": rows} for text, rows in paragraphs],
        }
        for title, paragraphs in articles
    ]
    return json.dumps({"version": "1.1", "data": data})


class Pair(NamedTuple):
    """A pair of clauses for natural language inference."""

    premise: Clause
    hypothesis: Clause
    labels: Sequence[str]  # of the annotators, the author's first
    gold: str  # "-" if they disagree
    prompt: int  # number of the premise
    genre: str

    def sentences(self, language: Language) -> list[Sentence]:
        """Return premise and hypothesis in a language."""
        return [language.sentence(Meaning(clause)) for clause in (self.premise, self.hypothesis)]


XNLI_COLUMNS = (
    *("language", "gold_label", "sentence1_binary_parse", "sentence2_binary_parse"),
    *("sentence1_parse", "sentence2_parse", "sentence1", "sentence2", "promptID", "pairID"),
    *("genre", "label1", "label2", "label3", "label4", "label5"),
    *("sentence1_tokenized", "sentence2_tokenized", "match"),
)


def xnli_row(language: Language, identifier: str, pair: Pair) -> str:
    """Return a row of XNLI's native table of 19 columns; like upstream's, its parses are empty."""
    sentences = pair.sentences(language)
    row = (language.code, pair.gold, "", "", "", "", *(sentence.text for sentence in sentences))
    row += (str(pair.prompt), identifier, pair.genre, *pair.labels)
    return "\t".join((*row, *map(tokenised, sentences), str(pair.labels[0] == pair.gold)))


def multinli_row(language: Language, identifier: str, pair: Pair) -> str:
    """Return a line of MultiNLI's jsonl.

    Its binary parses branch to the right, ``( The ( dog ( sleeps . ) ) )``, its others are flat.
    """
    row = {"annotator_labels": pair.labels, "genre": pair.genre, "gold_label": pair.gold}
    row |= {"pairID": identifier, "promptID": str(pair.prompt)}
    for name, sentence in zip(("sentence1", "sentence2"), pair.sentences(language), strict=True):
        *words, binary = tokenised(sentence).split(" ")
        for word in reversed(words):
            binary = f"( {word} {binary} )"
        tagged = zip(sentence.upos, sentence.forms, strict=True)
        flat = " ".join(f"({tag} {form})" for tag, form in tagged)
        row |= {name: sentence.text, f"{name}_binary_parse": binary}
        row[f"{name}_parse"] = f"(ROOT (S {flat}))"
    return json.dumps(row)

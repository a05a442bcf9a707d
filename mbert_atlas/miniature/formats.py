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

from mbert_atlas.miniature.language import Sentence, align

_EPOCH = (2020, 4, 20, 12, 0, 0)
_EPOCH_SECONDS = 1_587_384_000  # the same moment in UTC


def write(path: Path, content: str | bytes) -> None:
    """Write bytes, or text as UTF-8; compressed if the name ends in .gz, .bz2 or .xz."""
    content = content.encode() if isinstance(content, str) else content
    if path.suffix == ".gz" and not path.name.endswith(".tar.gz"):
        content = gzip.compress(content, mtime=0)  # without name and time of writing
    elif path.suffix == ".bz2":
        content = bz2.compress(content)
    elif path.suffix == ".xz":
        content = lzma.compress(content, preset=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def write_zip(path: Path, members: Mapping[str, str | bytes]) -> None:
    """Write a zip of UTF-8 texts or bytes by member name, all with one fixed date."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            member = zipfile.ZipInfo(name, _EPOCH)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            archive.writestr(member, text)
    write(path, buffer.getvalue())


def tar_gzip(members: Mapping[str, str]) -> bytes:
    """Return a gzipped tar of UTF-8 texts by member name, all with one fixed date and no owner."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, text in members.items():
            content = text.encode()
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), _EPOCH_SECONDS
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def lines(rows: Iterable[str]) -> str:
    """Return rows, each with its line end."""
    return "".join(row + "\n" for row in rows)


def conllu(sentence: Sentence, identifier: str, comments: dict[str, str] | None = None) -> str:
    """Return a sentence in CoNLL-U, ten columns, with rows for multiword tokens.

    Args:
        sentence: the sentence.
        identifier: its ``sent_id``.
        comments: further comments by key.
    """
    rows = [f"# sent_id = {identifier}", f"# text = {sentence.text}"]
    rows += [f"# {key} = {value}" for key, value in (comments or {}).items()]
    last = len(sentence.tokens) - 1
    for index, token in enumerate(sentence.tokens):
        misc = "_" if token.space_after or index == last else "SpaceAfter=No"
        several = token.stop > token.start + 1
        if several:
            rows.append(
                "\t".join([f"{token.start + 1}-{token.stop}", token.form, *"______", "_", misc])
            )
        for word in range(token.start, token.stop):
            rows.append(
                "\t".join(
                    (
                        str(word + 1),
                        sentence.forms[word],
                        sentence.lemmas[word],
                        sentence.upos[word],
                        "_",
                        "_",
                        str(sentence.heads[word]),
                        sentence.relations[word],
                        "_",
                        "_" if several else misc,
                    )
                )
            )
    return "\n".join(rows) + "\n\n"


def gold_row(source: Sentence, target: Sentence) -> str:
    """Return a row of gold alignment in XL-WA's layout: tokens, tokens, 0-based Pharaoh links."""
    links = " ".join(f"{i}-{j}" for i, j in align(source, target))
    return "\t".join((" ".join(units(source)), " ".join(units(target)), links))


def units(sentence: Sentence) -> list[str]:
    """Return the forms of the units that word aligners see."""
    return [form for form, _ in sentence.aligned_units()]


def wikiann_rows(language: str, sentences: Iterable[Iterable[tuple[str, str]]]) -> str:
    """Return sentences of (word, tag) pairs in the layout of Rahimi et al.'s WikiANN."""
    return "".join(
        lines(f"{language}:{word}\t{tag}" for word, tag in sentence) + "\n"
        for sentence in sentences
    )


def asked(identifier: str, question: str, answers: Iterable[tuple[str, int]]) -> dict[str, object]:
    """Return a question of SQuAD 1.1 with its answers, each a text and where it starts."""
    return {
        "id": identifier,
        "question": question,
        "answers": [{"text": text, "answer_start": start} for text, start in answers],
    }


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
            "paragraphs": [
                {"context": context, "qas": list(questions)} for context, questions in paragraphs
            ],
        }
        for title, paragraphs in articles
    ]
    return json.dumps({"version": "1.1", "data": data})


def bracketing(sentence: Sentence) -> tuple[str, str]:
    """Return a right-branching binary bracketing and a flat parse with the tags."""
    words = units(sentence)
    binary = words[-1]
    for word in reversed(words[:-1]):
        binary = f"( {word} {binary} )"
    tagged = zip(sentence.upos, sentence.forms, strict=True)
    return binary, "(ROOT (S " + " ".join(f"({tag} {form})" for tag, form in tagged) + "))"


XNLI_COLUMNS = (
    "language",
    "gold_label",
    "sentence1_binary_parse",
    "sentence2_binary_parse",
    "sentence1_parse",
    "sentence2_parse",
    "sentence1",
    "sentence2",
    "promptID",
    "pairID",
    "genre",
    "label1",
    "label2",
    "label3",
    "label4",
    "label5",
    "sentence1_tokenized",
    "sentence2_tokenized",
    "match",
)


def xnli_row(
    language: str,
    premise: Sentence,
    hypothesis: Sentence,
    labels: Sequence[str],
    gold: str,
    prompt: int,
    pair: int,
    genre: str,
) -> str:
    """Return a row of XNLI's native table of 19 columns; like upstream's, its parses are empty."""
    row = (language, gold, "", "", "", "", premise.text, hypothesis.text, str(prompt), str(pair))
    tokenised = (" ".join(units(premise)), " ".join(units(hypothesis)))
    return "\t".join((*row, genre, *labels, *tokenised, str(labels[0] == gold)))


def multinli_row(
    premise: Sentence,
    hypothesis: Sentence,
    labels: Sequence[str],
    gold: str,
    prompt: int,
    pair: str,
    genre: str,
) -> str:
    """Return a line of MultiNLI's jsonl."""
    first_binary, first_parse = bracketing(premise)
    second_binary, second_parse = bracketing(hypothesis)
    return json.dumps(
        {
            "annotator_labels": list(labels),
            "genre": genre,
            "gold_label": gold,
            "pairID": pair,
            "promptID": str(prompt),
            "sentence1": premise.text,
            "sentence1_binary_parse": first_binary,
            "sentence1_parse": first_parse,
            "sentence2": hypothesis.text,
            "sentence2_binary_parse": second_binary,
            "sentence2_parse": second_parse,
        }
    )

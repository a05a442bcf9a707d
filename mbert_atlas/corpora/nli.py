"""Natural language inference: MultiNLI, XNLI and their relatives to one row a pair.

Formats: ``multinli``: JSON lines, alone or as ``multinli_1.0_<split>.jsonl`` in the zip (``dev``
means ``dev_matched``); ``xnli``: tab-separated with the native header and all languages, alone or
as ``xnli.<split>.tsv`` in the zip; ``xtreme``: ``premise``, ``hypothesis``, ``label``, no header,
one language, test files without the label, which then come from a partner whose rows are parallel;
``taxinli``: tab-separated with a header, English. Files may be compressed.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa
from pydantic import BaseModel, ValidationError

from mbert_atlas.config.corpora.kinds import NliFormat
from mbert_atlas.corpora import lines
from mbert_atlas.corpora.cards import BadRows, Card
from mbert_atlas.corpora.jobs import DerivingJob, Options, ReadingJob, Upstream, read_languages
from mbert_atlas.corpora.samples import table_of
from mbert_atlas.corpora.scripts import require_script
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_parquet, write_parquet
from mbert_atlas.randomness import derive_seed
from mbert_atlas.schemas import NLI_PAIRS

LABELS = ("entailment", "neutral", "contradiction")
NO_CONSENSUS = "-"
ENGLISH = "en"
_PARALLEL = "use a parallel file"


class _Record(BaseModel, strict=True):
    """A line of MultiNLI."""

    pairID: lines.JsonText
    sentence1: lines.JsonText
    sentence2: lines.JsonText
    gold_label: lines.JsonText
    genre: lines.JsonText | None


class _Pair(NamedTuple):
    line: int
    id: str
    premise: str
    hypothesis: str
    label: str
    genre: lines.JsonText | None


def read(job: ReadingJob) -> None:
    """Read the pairs of all languages of a split, with the columns of ``schemas.NLI_PAIRS``.

    Ids are those of the source (``pairID``), or the line number in ``xtreme``: equal in parallel
    files. Rows are bad with an unknown or missing label or a repeated id.

    Raises DataError for a partner of another length or with another label.
    """
    read_languages(job, _read_language)


def _read_language(upstream: Upstream, options: Options) -> tuple[pa.Table, Card]:
    (file,), code, split = upstream.files, upstream.language.code, options["split"]
    lines.require_format(file.format, NliFormat, file.path)
    card = Card(file.format, code, bad=BadRows("pairs"))
    pairs = _READERS[file.format](file.path, code, split, card.bad)
    for labels in file.partners:
        pairs = _with_labels(pairs, file.path, labels, card.bad)
        card.notes.append(f"labels of {labels.name}, row by row")
    rows = [
        (pair.id, code, split, pair.premise, pair.hypothesis, pair.label, pair.genre)
        for pair in _labelled(pairs, file.path, card)
    ]
    card.bad.require_few(len(rows) + card.dropped.total())
    if not rows:
        problem = f"no pair left of {card.counts['pairs read']}"
        fix = "correct the language or the format"
        raise DataError(file.path, f"language {code}", problem, fix)
    texts = (f"{row[3]} {row[4]}" for row in rows)
    require_script(texts, upstream.language.script, file.path, code)
    card.counts["pairs"] = len(rows)
    return table_of(rows, NLI_PAIRS), card


def _labelled(pairs: Iterator[_Pair], path: Path, card: Card) -> Iterator[_Pair]:
    """Yield the pairs that have a label and two texts."""
    seen: set[str] = set()
    for pair in pairs:
        card.counts["pairs read"] += 1
        if pair.label == NO_CONSENSUS:
            card.dropped["no label that most annotators chose"] += 1
            continue
        with card.bad:
            _require_label(path, pair)
            if pair.id in seen:
                problem = f"pair {pair.id!r} was already read"
                raise DataError(path, f"line {pair.line}", problem, "remove one of them")
            seen.add(pair.id)
            if pair.premise and pair.hypothesis:
                card.counts[pair.label] += 1
                yield pair
            else:
                card.dropped["empty premise or hypothesis"] += 1


def _require_label(path: Path, pair: _Pair) -> None:
    problem = f"{pair.label!r} is not one of {', '.join(LABELS)} or {NO_CONSENSUS}"
    fix = "correct the label"
    if not pair.label:
        problem, fix = "the label is missing", "name a parallel file with labels in `partners`"
    if pair.label not in LABELS:
        raise DataError(path, f"line {pair.line}", problem, fix)


def _multinli(path: Path, language: str, split: str, bad: BadRows) -> Iterator[_Pair]:
    part = "dev_matched" if split == "dev" else split
    for number, line in lines.numbered_rows(path, rf"multinli_1\.0_{part}\.jsonl", bad):
        with bad:
            one = _record(line, path, f"line {number}")
            texts = (one.sentence1.strip(), one.sentence2.strip())
            yield _Pair(number, one.pairID, *texts, one.gold_label, one.genre)


def _record(line: str, path: Path, where: str) -> _Record:
    try:
        return _Record.model_validate(lines.parsed_json(line, path, where))
    except ValidationError as error:
        keys, problem = lines.json_mistake(error)
        problem = f"not a MultiNLI record ({': '.join([*keys, problem])})"
        raise DataError(path, where, problem, "fetch the file again") from error


def _xnli(path: Path, language: str, split: str, bad: BadRows) -> Iterator[_Pair]:
    columns = ("pairID", "sentence1", "sentence2", "gold_label", "genre", "language")
    return _rows_with_header(path, columns, rf"xnli\.{split}\.tsv", bad, language)


def _taxinli(path: Path, language: str, split: str, bad: BadRows) -> Iterator[_Pair]:
    for pair in _rows_with_header(path, ("pairID", "prem", "hyp", "label", "genre"), "", bad):
        # It mixes MultiNLI's training and development pairs, which share some numbers.
        yield pair._replace(id=f"{pair.id}-{pair.line}")


def _rows_with_header(
    path: Path, wanted: Sequence[str], member: str, bad: BadRows, language: str = ""
) -> Iterator[_Pair]:
    """Yield the pairs of a table; with a language, those whose last wanted column names it."""
    numbered = lines.numbered_rows(path, member, bad=None)
    names = next(numbered, (0, ""))[1].split("\t")
    if missing := [name for name in wanted if name not in names]:
        problem = f"the header lacks {', '.join(missing)} (it has {lines.short_list(names)})"
        fix = "check that the file is in the format that the config names"
        raise DataError(path, "line 1", problem, fix)
    places = [names.index(name) for name in wanted]
    for number, line in numbered:
        if language and line.split("\t")[places[-1] :][:1] != [language]:
            continue
        with bad:
            columns = lines.split_columns(line, len(names), path, number)
            row = [columns[place].strip() for place in places]
            yield _Pair(number, row[0], row[1], row[2], row[3], row[4] or None)


def _xtreme(path: Path, language: str, split: str, bad: BadRows) -> Iterator[_Pair]:
    rows = lines.numbered_columns(path, least=2, most=3, bad=bad)
    for number, (premise, hypothesis, *label) in rows:
        yield _Pair(number, str(number), premise.strip(), hypothesis.strip(), "".join(label), None)


_READERS: dict[str, Callable[[Path, str, str, BadRows], Iterator[_Pair]]] = {
    "multinli": _multinli,
    "xnli": _xnli,
    "xtreme": _xtreme,
    "taxinli": _taxinli,
}


def _with_labels(pairs: Iterator[_Pair], path: Path, labels: Path, bad: BadRows) -> Iterator[_Pair]:
    bad_labels = BadRows("labels")
    others = {other.line: other for other in _xtreme(labels, "", "", bad_labels)}
    last, read = max(others, default=0), 0
    for pair in pairs:
        read = pair.line
        if read > last:
            raise DataError(labels, "", f"it ends before line {read} of {path}", _PARALLEL)
        if (other := others.get(read)) is None:
            continue  # a bad line there
        if other.label in LABELS and pair.label not in ("", other.label):
            problem = f"is labelled {pair.label}, but line {read} of {labels} is {other.label}"
            raise DataError(path, f"line {read}", problem, _PARALLEL)
        with bad:
            _require_label(labels, other)
            yield pair._replace(label=other.label)
    if last > read:
        raise DataError(labels, f"line {read + 1}", f"has no counterpart in {path}", _PARALLEL)
    bad_labels.require_few(len(others))


def derive(job: DerivingJob) -> None:
    """Write the mixed-language XNLI of Efimov et al. (2022, section 4.2).

    A fair coin, which depends on the seed and the pair's id alone, decides for each pair whether
    the premise or the hypothesis is replaced by the English one. Rows of one split and id are
    translations of each other, as in XNLI; ``language`` is that of the side that is not English.

    Raises DataError if a pair has another label in English, or no pair of a language has an English
    counterpart.
    """
    (path,), seed = job.tables, job.options["seed"]
    rows = read_parquet(path, NLI_PAIRS).to_pylist()
    languages = [code for code in job.options["languages"] if code != ENGLISH]
    card = Card("mixed-language XNLI", " ".join(languages))
    card.notes.append(f"premise or hypothesis replaced by the English one, p = 0.5, seed {seed}")
    mixed = list(_mixed(rows, languages, seed, path, card))
    missing = set(languages) - {row["language"] for row in mixed}
    if missing or not mixed:
        problem = "no pair has an English one of its id"
        fix = "add English to the dataset's languages, or drop these"
        raise DataError(path, f"languages {' '.join(sorted(missing))}".strip(), problem, fix)
    card.counts["pairs"] = len(mixed)
    write_parquet(pa.Table.from_pylist(mixed, NLI_PAIRS), job.output)
    card.write(job.card, [path])


def _mixed(
    rows: Sequence[dict[str, str]], languages: Sequence[str], seed: int, path: Path, card: Card
) -> Iterator[dict[str, str]]:
    english = {(row["split"], row["id"]): row for row in rows if row["language"] == ENGLISH}
    for row in rows:
        if row["language"] not in languages:
            continue
        other = english.get((row["split"], row["id"]))
        if other is None:
            card.dropped["no English counterpart"] += 1
            continue
        if other["label"] != row["label"]:
            problem = f"is labelled {row['label']} in {row['language']}"
            problem += f", but {other['label']} in English"
            fix = "use a dataset whose ids tell which pairs are translations"
            raise DataError(path, f"pair {row['id']}", problem, fix)
        side = english_side(seed, row["id"])
        card.counts[f"{row['language']}: {side} in English"] += 1
        yield {**row, side: other[side]}


def english_side(seed: int, identifier: str) -> Literal["premise", "hypothesis"]:
    """Return which side of the pair of that id is in English; see :func:`derive`."""
    return "premise" if derive_seed(seed, "mixed-language", identifier) % 2 else "hypothesis"

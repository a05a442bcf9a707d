"""Natural language inference: MultiNLI, XNLI and their relatives to one row a pair."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import pyarrow as pa

from mbert_atlas.config.datasets import NliFormat
from mbert_atlas.corpora.bad_rows import BadRows
from mbert_atlas.corpora.cards import Source, write_card
from mbert_atlas.corpora.lines import (
    header_columns,
    numbered_columns,
    numbered_lines,
    require_format,
    require_text,
    split_columns,
)
from mbert_atlas.corpora.samples import table_of
from mbert_atlas.corpora.scripts import require_script
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_parquet, write_parquet
from mbert_atlas.randomness import derive_seed
from mbert_atlas.schemas import NLI_PAIRS

Format = NliFormat
LABELS = ("entailment", "neutral", "contradiction")
NO_CONSENSUS = "-"
ENGLISH = "en"


@dataclass(frozen=True)
class _Pair:
    line: int
    id: str
    premise: str
    hypothesis: str
    label: str
    genre: str | None


def read_nli(
    source_path: Path | str,
    format: Format,
    language: str,
    split: str,
    output: Path | str,
    card: Path | str,
    *,
    labels_from: Path | str | None = None,
    source: Source = None,
    script: str = "",
) -> None:
    """Read the pairs of one language and split.

    Bad rows (not UTF-8, a wrong number of columns, an unknown or missing label, a repeated id) are
    left out while they are few, see :class:`BadRows`.

    Args:
        source_path: a file in one of the formats below, plain or compressed.
        format: ``multinli``: JSON lines, alone or as ``multinli_1.0_<split>.jsonl`` in the zip
            (``dev`` means ``dev_matched``); ``xnli``: tab-separated with the native header and all
            languages, alone or as ``xnli.<split>.tsv`` in the zip; ``xtreme``: ``premise``,
            ``hypothesis``, ``label``, no header, one language, test files without the label;
            ``taxinli``: tab-separated with a header, English.
        language: language code; selects the rows of ``xnli``.
        split: name of the split for the rows; selects the member of a zip.
        output: Parquet file with the columns of ``schemas.NLI_PAIRS``. Ids are those of the source
            (``pairID``), or the line number in ``xtreme``: equal in parallel files.
        card: JSON file for the dataset card.
        labels_from: an ``xtreme`` file with labels whose rows run parallel to this one's.
        source: dataset, licence and citation for the card.
        script: what the language is written in, see :func:`require_script`.

    Raises:
        DataError: for too many bad rows, ``labels_from`` of another length or with another label,
            or a file without a pair; names file and line.
    """
    path = Path(source_path)
    require_format(format, get_args(Format), path)
    counts, dropped, bad = Counter[str](), Counter[str](), BadRows("pairs")
    pairs = _READERS[format](path, language, split, bad)
    if labels_from is not None:
        pairs = _with_labels(pairs, path, Path(labels_from), bad)
    rows = [
        (pair.id, language, split, pair.premise, pair.hypothesis, pair.label, pair.genre)
        for pair in _labelled(pairs, path, counts, dropped, bad)
    ]
    bad.require_few(len(rows) + dropped.total())
    if not rows:
        problem = f"no pair left of {counts['pairs read']}"
        mend = "correct the language or the format"
        raise DataError(path, f"language {language}", problem, mend)
    require_script((f"{row[3]} {row[4]}" for row in rows), script, path, language)
    counts["pairs"] = len(rows)
    write_parquet(table_of(rows, NLI_PAIRS), output)
    write_card(
        card,
        dataset=format,
        language=language,
        files=[path] if labels_from is None else [path, Path(labels_from)],
        counts=counts,
        dropped=dropped,
        bad=bad,
        source=source,
        notes=[] if labels_from is None else [f"labels of {Path(labels_from).name}, row by row"],
    )


def _labelled(
    pairs: Iterator[_Pair],
    path: Path,
    counts: Counter[str],
    dropped: Counter[str],
    bad: BadRows,
) -> Iterator[_Pair]:
    """Yield the pairs that have a label and two texts."""
    known: set[str] = set()
    for pair in pairs:
        counts["pairs read"] += 1
        if pair.label == NO_CONSENSUS:
            dropped["no label that most annotators chose"] += 1
            continue
        if pair.label not in LABELS:
            bad.drop(_bad_label(path, pair))
            continue
        if pair.id in known:
            problem = f"pair {pair.id!r} was already read"
            bad.drop(DataError(path, f"line {pair.line}", problem, "remove one of them"))
            continue
        known.add(pair.id)
        if not pair.premise or not pair.hypothesis:
            dropped["empty premise or hypothesis"] += 1
            continue
        counts[pair.label] += 1
        yield pair


def _bad_label(path: Path, pair: _Pair) -> DataError:
    place = f"line {pair.line}"
    if not pair.label:
        return DataError(
            path, place, "the label is missing", "give labels_from: a parallel file with labels"
        )
    return DataError(
        path,
        place,
        f"{pair.label!r} is not one of {', '.join(LABELS)} or {NO_CONSENSUS}",
        "correct the label",
    )


def _multinli(path: Path, language: str, split: str, bad: BadRows) -> Iterator[_Pair]:
    part = "dev_matched" if split == "dev" else split
    member = rf"multinli_1\.0_{part}\.jsonl" if path.suffix == ".zip" else None
    for number, line in numbered_lines(path, member, strict=False):
        try:
            require_text(line, path, number)
            value = json.loads(line)
            pair = _Pair(
                number,
                value["pairID"],
                value["sentence1"].strip(),
                value["sentence2"].strip(),
                value["gold_label"],
                value["genre"],
            )
        except DataError as error:
            bad.drop(error)
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            problem = f"not a MultiNLI record ({type(error).__name__}: {error})"
            bad.drop(DataError(path, f"line {number}", problem, "fetch the file again"))
        else:
            yield pair


def _xnli(path: Path, language: str, split: str, bad: BadRows) -> Iterator[_Pair]:
    member = rf"xnli\.{split}\.tsv" if path.suffix == ".zip" else None
    wanted = {
        "language": "language",
        "label": "gold_label",
        "premise": "sentence1",
        "hypothesis": "sentence2",
        "id": "pairID",
        "genre": "genre",
    }
    for number, row in _rows_with_header(path, member, wanted, bad, language):
        yield _pair_of(number, row)


def _taxinli(path: Path, language: str, split: str, bad: BadRows) -> Iterator[_Pair]:
    wanted = {
        "premise": "prem",
        "hypothesis": "hyp",
        "label": "label",
        "id": "pairID",
        "genre": "genre",
    }
    for number, row in _rows_with_header(path, None, wanted, bad):
        # It mixes MultiNLI's training and development pairs, which share some numbers.
        yield _pair_of(number, {**row, "id": f"{row['id']}-{number}"})


def _xtreme(path: Path, language: str, split: str, bad: BadRows) -> Iterator[_Pair]:
    rows = numbered_columns(path, least=2, most=3, bad=bad)
    for number, (premise, hypothesis, *label) in rows:
        yield _Pair(number, str(number), premise.strip(), hypothesis.strip(), "".join(label), None)


def _with_labels(pairs: Iterator[_Pair], path: Path, labels: Path, bad: BadRows) -> Iterator[_Pair]:
    bad_labels = BadRows("labels")
    others = {other.line: other for other in _xtreme(labels, "", "", bad_labels)}
    last = max(others, default=0)
    read = 0
    for pair in pairs:
        read = pair.line
        other = others.get(pair.line)
        if other is None:
            if pair.line > last:
                problem = f"it ends before line {pair.line} of {path}"
                raise DataError(labels, "", problem, "use a parallel file")
            continue  # a bad line there
        if other.label not in LABELS:
            bad.drop(_bad_label(labels, other))
            continue
        if pair.label and pair.label != other.label:
            raise DataError(
                path,
                f"line {pair.line}",
                f"is labelled {pair.label}, but line {other.line} of {labels} {other.label}",
                "use a file whose rows are parallel",
            )
        yield replace(pair, label=other.label)
    if last > read:
        problem = f"has no counterpart in {path}"
        raise DataError(labels, f"line {read + 1}", problem, "use a parallel file")
    bad_labels.require_few(len(others))


def _rows_with_header(
    path: Path,
    member: str | None,
    wanted: dict[str, str],
    bad: BadRows,
    language: str | None = None,
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, its wanted columns), of one language if one is given."""
    lines = numbered_lines(path, member, strict=False)
    _, header = next(lines, (0, ""))
    width, index = header_columns(header, wanted, path)
    for number, line in lines:
        if language is not None and line.split("\t")[index["language"] :][:1] != [language]:
            continue
        try:
            columns = split_columns(line, width, path, number)
        except DataError as error:
            bad.drop(error)
            continue
        yield number, {name: columns[place].strip() for name, place in index.items()}


def _pair_of(number: int, row: dict[str, str]) -> _Pair:
    return _Pair(
        number, row["id"], row["premise"], row["hypothesis"], row["label"], row["genre"] or None
    )


def write_mixed_language(
    pairs: Path | str,
    output: Path | str,
    card: Path | str,
    *,
    seed: int,
    languages: Sequence[str] | None = None,
    source: Source = None,
) -> None:
    """Write the mixed-language XNLI of Efimov et al. (2022, section 4.2): one side in English.

    A fair coin says for each pair whether the premise or the hypothesis is replaced by the English
    one. The coin depends on the seed and the pair's id alone: neither on the order of the rows nor
    on the other pairs, and it falls alike in all languages.

    Args:
        pairs: Parquet file with the columns of ``schemas.NLI_PAIRS``, English and other languages;
            rows of one split and id are translations of each other, as in XNLI.
        output: Parquet file with the same columns and ids; ``language`` is that of the other side.
        card: JSON file for the dataset card.
        seed: seed of the frozen file.
        languages: languages to mix with English; all others of ``pairs`` if not given.
        source: dataset, licence and citation for the card.

    Raises:
        DataError: if English or one of ``languages`` is missing, an English pair is there twice,
            a pair has another label in English, or none has an English counterpart.
    """
    table = read_parquet(pairs, NLI_PAIRS)
    rows = table.to_pylist()
    present = list(dict.fromkeys(row["language"] for row in rows))
    wanted = [code for code in (present if languages is None else languages) if code != ENGLISH]
    for code in (ENGLISH, *wanted):
        if code not in present:
            raise DataError(
                pairs, f"language {code}", "no pair in it", "add it to the dataset's languages"
            )
    if not wanted:
        raise DataError(pairs, "", "it holds English only", "add a language to mix it with")
    counts, dropped = Counter[str](), Counter[str]()
    mixed = list(_mixed(rows, wanted, seed, pairs, counts, dropped))
    if not mixed:
        raise DataError(pairs, "", "no pair has an English one of its id", "use a parallel dataset")
    for code in wanted:
        if not any(row["language"] == code for row in mixed):
            problem, mend = "no pair has an English one of its id", "drop it from the languages"
            raise DataError(pairs, f"language {code}", problem, mend)
    counts["pairs"] = len(mixed)
    write_parquet(pa.Table.from_pylist(mixed, NLI_PAIRS), output)
    write_card(
        card,
        dataset="mixed-language XNLI",
        language=" ".join(wanted),
        files=[pairs],
        counts=counts,
        dropped=dropped,
        source=source,
        notes=[f"premise or hypothesis replaced by the English one, p = 0.5, seed {seed}"],
    )


def _mixed(
    rows: Sequence[dict[str, str]],
    languages: Sequence[str],
    seed: int,
    origin: Path | str,
    counts: Counter[str],
    dropped: Counter[str],
) -> Iterator[dict[str, str]]:
    english: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        if row["language"] == ENGLISH:
            key = (row["split"], row["id"])
            if key in english:
                raise DataError(origin, f"pair {row['id']}", "is there twice", "remove one of them")
            english[key] = row
    for row in rows:
        if row["language"] not in languages:
            continue
        other = english.get((row["split"], row["id"]))
        if other is None:
            dropped["no English counterpart"] += 1
            continue
        if other["label"] != row["label"]:
            raise DataError(
                origin,
                f"pair {row['id']}",
                f"is labelled {row['label']} in {row['language']}, but {other['label']} in English",
                "use a dataset whose ids say which pairs are translations",
            )
        side = english_side(seed, row["id"])
        counts[f"{row['language']}: {side} in English"] += 1
        yield {**row, side: other[side]}


def english_side(seed: int, identifier: str) -> Literal["premise", "hypothesis"]:
    """Return which side of the pair of that id is in English; see :func:`write_mixed_language`."""
    return "premise" if derive_seed(seed, "mixed-language", identifier) % 2 else "hypothesis"


_READERS: dict[str, Callable[[Path, str, str, BadRows], Iterator[_Pair]]] = {
    "multinli": _multinli,
    "xnli": _xnli,
    "xtreme": _xtreme,
    "taxinli": _taxinli,
}

"""Wikipedia dumps to paragraphs, and paragraphs to a set for language identification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mbert_atlas.corpora.cards import Source, write_card
from mbert_atlas.corpora.dumps import plain_articles, wikiextractor_version
from mbert_atlas.corpora.samples import table_of
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_in_groups, write_parquet
from mbert_atlas.progress import track
from mbert_atlas.randomness import generator
from mbert_atlas.schemas import LID_EXAMPLES, PARAGRAPHS
from mbert_atlas.tokenizer import open_tokenizer, special_id

SPLITS = ("train", "validation", "dev", "test")


def extract_paragraphs(
    dump: Path | str,
    language: str,
    output: Path | str,
    card: Path | str,
    *,
    minimum_characters: int = 100,
    processes: int = 1,
    source: Source = None,
) -> None:
    """Extract the plain-text paragraphs of a ``pages-articles`` dump, as Tanti et al. (2021) do.

    A paragraph is a line of WikiExtractor's output, see :func:`dumps.plain_articles`. Templates are
    not expanded: the paper's version effectively dropped them, and it saves a pass over the dump.

    Args:
        dump: ``pages-articles.xml``, plain or ``.bz2``, ``.gz``, ``.xz``.
        language: language code of the text.
        output: Parquet file with the columns of ``schemas.PARAGRAPHS``.
        card: JSON file for the dataset card.
        minimum_characters: shorter lines (headings, captions, leftovers of lists) are dropped.
        processes: worker processes of WikiExtractor.
        source: dataset, licence and citation for the card.

    Raises:
        DataError: if the dump is missing, empty, cut short, damaged, not a MediaWiki export, or
            holds no paragraph of that length.
        AtlasError: if WikiExtractor fails, stands still, or loses articles.
    """
    dump = Path(dump)
    pages, lines = Counter[str](), Counter[str]()
    write_in_groups(
        _paragraphs(dump, language, minimum_characters, processes, pages, lines), PARAGRAPHS, output
    )
    write_card(
        card,
        dataset="Wikipedia",
        language=language,
        files=[dump],
        counts={
            "pages": pages.total(),
            "articles": pages["articles"],
            "articles without a paragraph": lines["articles without a paragraph"],
            "paragraphs": lines["paragraphs"],
        },
        dropped={
            "page: redirect": pages["redirects"],
            "page: outside the main namespace": pages["other namespaces"],
            "page: empty": pages["empty"],
            f"line: shorter than {minimum_characters} characters": lines["short"],
        },
        source=source,
        notes=["templates are dropped, not expanded"],
        tool=f"wikiextractor {wikiextractor_version()}",
    )


def _paragraphs(
    dump: Path,
    language: str,
    minimum: int,
    processes: int,
    pages: Counter[str],
    lines: Counter[str],
) -> Generator[list[Mapping[str, Any]], None, None]:
    with plain_articles(dump, pages, processes) as articles:
        for article in articles:
            texts = [line.replace("\t", " ").strip() for line in article.text.split("\n")]
            kept = [text for text in texts if len(text) >= minimum]
            lines["short"] += sum(0 < len(text) < minimum for text in texts)
            lines["articles without a paragraph"] += not kept
            lines["paragraphs"] += len(kept)
            yield [
                {
                    "id": f"{language}-{article.id}-{number}",
                    "language": language,
                    "page_id": article.id,
                    "title": article.title,
                    "text": text,
                }
                for number, text in enumerate(kept)
            ]
    if not lines["paragraphs"]:
        raise DataError(
            dump,
            "",
            f"no paragraph of {minimum} characters or more in {pages['articles']} articles",
            "use a larger dump or a lower minimum",
        )


def sample_language_identification(
    paragraphs: Mapping[str, Path],
    tokenizer_dir: Path | str | None,
    output: Path | str,
    card: Path | str,
    *,
    seed: int,
    per_language: int = 5000,
    minimum_per_language: int = 10,
    fractions: Sequence[float] = (0.7, 0.1, 0.1, 0.1),
    source: Source = None,
) -> None:
    """Sample a set for language identification (Tanti et al. 2021, appendix A).

    Random paragraphs without an unknown piece, up to ``per_language``; exact repetitions within a
    language, which the paper's code keeps, are left out. Each language is split by itself.

    Args:
        paragraphs: language code -> Parquet file with the columns of ``schemas.PARAGRAPHS``.
        tokenizer_dir: folder of an encoder, with its ``tokenizer.json``; with none, paragraphs with
            an unknown piece stay.
        output: Parquet file with the columns of ``schemas.LID_EXAMPLES``.
        card: JSON file for the dataset card.
        seed: decides what is drawn.
        per_language: examples wanted of each.
        minimum_per_language: fewer is an error; below 10, a split may lack the language.
        fractions: shares of train, validation, dev and test.
        source: dataset, licence and citation for the card.

    Raises:
        DataError: if a file cannot be used, or too few paragraphs of a language pass.
    """
    files = [paragraphs[code] for code in sorted(paragraphs)]
    if tokenizer_dir:
        files.append(Path(tokenizer_dir, "tokenizer.json"))
    has_unknown = _unknown_to(tokenizer_dir)
    tables, counts, dropped = list[pa.Table](), Counter[str](), Counter[str]()
    for language, path in track(sorted(paragraphs.items()), "languages sampled"):
        reader, random = _Paragraphs(path), generator(seed, "language identification", language)
        chosen, looked_at = _passing(reader, random, per_language, has_unknown)
        if len(chosen) < minimum_per_language:
            raise _too_few(path, language, len(chosen), len(reader), minimum_per_language)
        tables.append(_with_splits(chosen, language, fractions))
        found = {
            "paragraphs": len(reader),
            "paragraphs looked at": looked_at.total(),
            "examples": looked_at.pop("examples"),
            "shortfall": per_language - len(chosen),
        }
        counts += Counter({f"{language}: {what}": number for what, number in found.items()})
        counts += Counter(tables[-1]["split"].to_pylist())
        dropped.update({f"{language}: {why}": number for why, number in looked_at.items()})
    write_parquet(pa.concat_tables(tables), output)
    write_card(
        card,
        dataset="Wikipedia language identification",
        language=" ".join(sorted(paragraphs)),
        files=files,
        counts=counts,
        dropped=dropped,
        source=source,
        notes=[f"seed {seed}", "drops are counted among the paragraphs looked at"],
    )


def _unknown_to(tokenizer_dir: Path | str | None) -> Callable[[list[str]], Iterable[bool]]:
    if not tokenizer_dir:
        return lambda texts: repeat(False, len(texts))
    tokenizer = open_tokenizer(tokenizer_dir)
    unknown = special_id(tokenizer, "[UNK]", tokenizer_dir)

    def has_unknown(texts: list[str]) -> Iterable[bool]:
        encodings = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return (unknown in encoding.ids for encoding in encodings)

    return has_unknown


def _too_few(path: Path, language: str, passing: int, all_: int, wanted: int) -> DataError:
    problem = f"{passing} of {all_} paragraphs pass, {wanted} wanted"
    mend = "take a larger dump, leave the language out, or lower minimum_per_language"
    return DataError(path, f"language {language}", problem, mend)


def _with_splits(
    chosen: Sequence[tuple[str, str]], language: str, fractions: Sequence[float]
) -> pa.Table:
    sizes = zip(SPLITS, _split_sizes(len(chosen), fractions), strict=True)
    splits = [split for split, size in sizes for _ in range(size)]
    rows = zip(chosen, splits, strict=True)
    return table_of(((i, language, split, text) for (i, text), split in rows), LID_EXAMPLES)


def _passing(
    reader: _Paragraphs,
    random: np.random.Generator,
    wanted: int,
    has_unknown: Callable[[list[str]], Iterable[bool]],
) -> tuple[list[tuple[str, str]], Counter[str]]:
    """Return (id, text) of at most ``wanted`` random paragraphs that pass, and what was met."""
    order = random.permutation(len(reader))
    chosen: list[tuple[str, str]] = []
    seen: set[str] = set()
    met = Counter[str]()
    while len(chosen) < wanted and met.total() < len(order):
        # A little more than is missing; at least twice as much as before, for few passes.
        look_at = max((wanted - len(chosen)) * 5 // 4 + 64, met.total())
        ids, texts = reader.rows(order[met.total() :][:look_at])
        repeated = []
        for text in texts:
            repeated.append(text in seen)
            seen.add(text)
        new = [text for text, known in zip(texts, repeated, strict=True) if not known]
        unknown = iter(has_unknown(new))
        for paragraph, text, known in zip(ids, texts, repeated, strict=True):
            if known:
                met["exact duplicate"] += 1
            elif next(unknown):
                met["unknown piece"] += 1
            else:
                met["examples"] += 1
                chosen.append((paragraph, text))
            if len(chosen) == wanted:
                break
    return chosen, met


class _Paragraphs:
    """Rows of a Parquet file of paragraphs, read a row group at a time."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = pq.ParquetFile(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(
                path, "", f"not a readable Parquet file ({error})", "remake it"
            ) from error
        if not self._file.schema_arrow.equals(PARAGRAPHS, check_metadata=False):
            raise DataError(
                path,
                "columns",
                f"found {self._file.schema_arrow.names}, wanted {PARAGRAPHS.names}",
                "delete the file so that the workflow makes it again",
            )
        metadata = self._file.metadata
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        self._starts = np.cumsum([0, *sizes])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def rows(self, indices: np.ndarray) -> tuple[list[str], list[str]]:
        """Return the ids and texts of the rows ``indices`` (n, int64), in that order."""
        ids: dict[int, str] = {}
        texts: dict[int, str] = {}
        ordered = np.sort(indices)
        edges = np.searchsorted(ordered, self._starts)
        for group in np.flatnonzero(np.diff(edges)):
            wanted = ordered[edges[group] : edges[group + 1]]
            table = self._file.read_row_group(int(group), columns=["id", "text"]).take(
                pa.array(wanted - self._starts[group])
            )
            ids.update(zip(wanted.tolist(), table["id"].to_pylist(), strict=True))
            texts.update(zip(wanted.tolist(), table["text"].to_pylist(), strict=True))
        return [ids[row] for row in indices.tolist()], [texts[row] for row in indices.tolist()]


def _split_sizes(items: int, fractions: Sequence[float]) -> list[int]:
    """Share out ``items`` by the method of largest remainders; ties go to the earlier split."""
    quotas = [items * Fraction(str(fraction)) for fraction in fractions]  # str: 0.7 means 7/10
    sizes = [int(quota) for quota in quotas]
    by_remainder = sorted(range(len(sizes)), key=lambda split: sizes[split] - quotas[split])
    for split in by_remainder[: items - sum(sizes)]:
        sizes[split] += 1
    return sizes

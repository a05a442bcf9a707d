"""Language identification: paragraphs with their language, sampled."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import repeat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset

from mbert_atlas.corpora.cards import Card
from mbert_atlas.corpora.jobs import DerivingJob
from mbert_atlas.corpora.samples import table_of
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_parquet
from mbert_atlas.progress import track
from mbert_atlas.randomness import generator
from mbert_atlas.schemas import LID_EXAMPLES
from mbert_atlas.tokenizer import open_tokenizer, special_id

SPLITS = ("train", "validation", "dev", "test")


def derive(job: DerivingJob) -> None:
    """Sample a set for language identification (Tanti et al. 2021, appendix A).

    Random paragraphs of each language, without those that have an unknown token if there is a
    tokenizer; exact repetitions within a language, which the paper's code keeps, are left out.
    Each language is split separately. The table has the columns of ``schemas.LID_EXAMPLES``.

    Raises DataError if the tokenizer cannot be used, or fewer than ``minimum_per_language``
    paragraphs of a language pass.
    """
    options, seed, limit = job.options, job.options["seed"], job.options["limit"]
    tables: list[pa.Table] = []
    paragraphs = dict(sorted((path.stem, path) for path in job.tables))
    files = [*paragraphs.values()]
    if job.tokenizer:
        files.append(job.tokenizer / "tokenizer.json")
    has_unknown = _unknown_to(job.tokenizer)
    card = Card("Wikipedia language identification", " ".join(paragraphs))
    card.notes += [f"seed {seed}", "drops are counted among the paragraphs looked at"]
    for language, path in track(paragraphs.items(), "languages sampled"):
        table = pyarrow.dataset.dataset(path)
        random = generator(seed, "language identification", language)
        order = random.permutation(table.count_rows())
        chosen, seen = _passing(table, order, limit or len(order), has_unknown)
        if len(chosen) < (needed := options["minimum_per_language"]):
            problem = f"{len(chosen)} of {len(order)} paragraphs pass, {needed} needed"
            fix = "take a larger dump, leave the language out, or lower minimum_per_language"
            raise DataError(path, f"language {language}", problem, fix)
        splits = np.repeat(SPLITS, _split_sizes(len(chosen), options["fractions"])).tolist()
        rows = [(i, language, split, s) for (i, s), split in zip(chosen, splits, strict=True)]
        tables.append(table_of(rows, LID_EXAMPLES))
        counts = {
            "paragraphs": len(order),
            "paragraphs looked at": seen.total(),
            "examples": seen.pop("examples"),
            "shortfall": (limit or len(chosen)) - len(chosen),
        }
        card.counts += Counter({f"{language}: {name}": n for name, n in counts.items()})
        card.counts += Counter(tables[-1]["split"].to_pylist())
        card.dropped.update({f"{language}: {reason}": n for reason, n in seen.items()})
    write_parquet(pa.concat_tables(tables), job.output)
    origin = "see the cards of the paragraphs"
    stated = {"dataset": options["paragraphs"], "licence": origin, "citation": origin}
    card.write(job.card, files, [stated])


def _unknown_to(tokenizer_dir: Path | str | None) -> Callable[[list[str]], Iterable[bool]]:
    if not tokenizer_dir:
        return lambda texts: repeat(False, len(texts))
    tokenizer = open_tokenizer(tokenizer_dir)
    unknown = special_id(tokenizer, "[UNK]", tokenizer_dir)
    encode = partial(tokenizer.encode_batch_fast, add_special_tokens=False)
    return lambda texts: (unknown in encoding.ids for encoding in encode(texts))


def _passing(
    paragraphs: pyarrow.dataset.Dataset,
    order: np.ndarray,
    wanted: int,
    has_unknown: Callable[[list[str]], Iterable[bool]],
) -> tuple[list[tuple[str, str]], Counter[str]]:
    """Return (id, text) of the first ``wanted`` paragraphs in this order that pass, and counts."""
    chosen, seen, counts = list[tuple[str, str]](), set[str](), Counter[str]()
    step = wanted * 5 // 4 + 64  # a little more than is needed, for few passes over the file
    for start in range(0, len(order), step):
        rows = paragraphs.take(order[start : start + step], columns=["id", "text"])
        ids, texts = (column.to_pylist() for column in rows.columns)
        for paragraph, text, is_unknown in zip(ids, texts, has_unknown(texts), strict=True):
            if text in seen:
                counts["exact duplicate"] += 1
            elif is_unknown:
                counts["unknown piece"] += 1
            else:
                counts["examples"] += 1
                chosen.append((paragraph, text))
            seen.add(text)
            if len(chosen) == wanted:
                return chosen, counts
    return chosen, counts


def _split_sizes(items: int, fractions: Sequence[float]) -> list[int]:
    """Share out ``items`` by the method of largest remainders; ties go to the earlier split."""
    quotas = [items * Fraction(str(fraction)) for fraction in fractions]  # str: 0.7 means 7/10
    sizes = [int(quota) for quota in quotas]
    by_remainder = sorted(range(len(sizes)), key=lambda split: sizes[split] - quotas[split])
    for split in by_remainder[: items - sum(sizes)]:
        sizes[split] += 1
    return sizes

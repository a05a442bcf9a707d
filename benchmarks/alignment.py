"""Compare the word aligners on one bitext, in one run: time, links, and scores on gold links.

    python benchmarks/alignment.py [--bitext B.parquet] [--gold FILE ... --gold-format F]

Times are those of `align`, from the Parquet file to the Pharaoh file. The rounds alternate and the
fastest round of each counts. Aligners that are not installed are left out.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mbert_atlas.alignment import ALIGNERS
from mbert_atlas.alignment.bitext import align
from mbert_atlas.alignment.links import read_pharaoh
from mbert_atlas.config.alignment import Alignment
from mbert_atlas.corpora.gold_alignment import read_gold
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_parquet
from mbert_atlas.schemas import BITEXT


def synthetic_bitext(path: Path, sentences: int, seed: int = 0) -> None:
    """Write sentences of Zipfian words with a noisy translation, about 20 words a side."""
    random = np.random.default_rng(seed)
    source, target = [], []
    for length in random.poisson(18, sentences) + 2:
        words = np.minimum(random.zipf(1.3, length), 40_000)
        copies = np.repeat(words, random.choice(3, length, p=[0.1, 0.8, 0.1]))
        order = np.argsort(np.arange(len(copies)) + random.normal(0, 1, len(copies)))
        noise = random.random(len(copies)) < 0.1
        copies = np.where(noise, random.integers(1, 40_000, len(copies)), copies)[order]
        source.append([f"s{word}" for word in words])
        target.append([f"t{word}" for word in copies] or ["t0"])
    columns = {
        "id": [str(number) for number in range(sentences)],
        "source_tokens": source,
        "target_tokens": target,
        "score": pa.nulls(sentences, pa.float32()),
    }
    write_parquet(pa.table(columns, schema=BITEXT), path)


def with_children(run: Callable[[], object]) -> common.Seconds:
    """Time a call; its processor time includes that of child processes."""
    before = sum(os.times()[:4])
    time, _ = common.timed(run)
    return time._replace(processor=sum(os.times()[:4]) - before)


def links_of(path: Path) -> set[tuple[int, int, int]]:
    links = read_pharaoh(path)
    columns = (links.row.tolist(), links.source.tolist(), links.target.tolist())
    return set(zip(*columns, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bitext", type=Path, help="Parquet of schema BITEXT; default: synthetic")
    parser.add_argument("--sentences", type=int, default=20_000, help="of the synthetic bitext")
    parser.add_argument("--gold", type=Path, nargs="+", help="file(s) of hand-aligned sentences")
    parser.add_argument("--gold-format", default="xlwa", help="see corpora.gold_alignment")
    parser.add_argument("--aligners", nargs="+", default=list(ALIGNERS), choices=list(ALIGNERS))
    parser.add_argument("--fast-align", help="program; default: found on PATH")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = common.parse(parser, sentences=30, threads=1, rounds=1)
    gold = read_gold(arguments.gold, arguments.gold_format) if arguments.gold else []

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bitext = arguments.bitext
        if bitext is None:
            bitext = folder / "bitext.parquet"
            synthetic_bitext(bitext, arguments.sentences)
        cards: dict[str, dict[str, Any]] = {}
        turns: dict[str, Callable[[], common.Seconds]] = {}

        def run(aligner: str) -> None:
            options = Alignment(aligner=aligner, program=arguments.fast_align)
            links = folder / aligner
            threads = arguments.threads
            cards[aligner] = align(bitext, links, gold=gold, options=options, threads=threads)

        for aligner in arguments.aligners:
            try:
                ALIGNERS.load(aligner).version(arguments.fast_align)
            except DataError as error:
                print(f"{aligner}: absent ({error})")
            else:
                turns[aligner] = lambda aligner=aligner: with_children(lambda: run(aligner))
        times = common.take_turns(turns, arguments.rounds)
        rows = pq.read_metadata(bitext).num_rows
        print(f"{rows} sentence pairs, {len(gold)} gold sentences, {arguments.threads} thread(s)")
        first, *_ = cards
        for aligner, card in cards.items():
            wall, processor = (
                min(getattr(time, kind) for time in times[aligner])
                for kind in ("wall", "processor")
            )
            ours, theirs = (links_of(folder / item) for item in (first, aligner))
            text = f"{aligner} ({card['version']}): {wall:.2f} s, {processor:.2f} s of CPU"
            text += f", {len(ours & theirs) / max(1, len(ours | theirs)):.4%} of links as {first}"
            if gold:
                text += f", AER {card['aer']:.4f}, right training pairs {card['pairs_right']:.4f}"
            print(text)


if __name__ == "__main__":
    main()

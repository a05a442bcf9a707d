"""Time the word alignment against a fast_align binary on one bitext, in one run.

    python benchmarks/alignment.py [--bitext B.parquet] [--gold FILE ... --gold-format F]

The binary's time is that of its three calls (forward, reverse, intersection) on text that is ready;
ours is that of `align`, from the Parquet file to the Pharaoh file. The rounds of both alternate and
the fastest round of each counts. Without a binary on PATH (or named by --fast-align) only ours is
timed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import common
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mbert_atlas.alignment.bitext import align
from mbert_atlas.corpora.gold_alignment import read_gold
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


def call_binary(
    fast_align: str, atools: str | None, text: Path, folder: Path, threads: int
) -> None:
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    forward, reverse, merged = (folder / name for name in ("forward", "reverse", "merged"))
    calls = [
        ([fast_align, "-i", text, "-d", "-o", "-v"], forward),
        ([fast_align, "-i", text, "-d", "-o", "-v", "-r"], reverse),
    ]
    if atools is not None:
        calls.append(([atools, "-c", "intersect", "-i", forward, "-j", reverse], merged))
    for command, output in calls:
        with open(output, "wb") as stream:
            subprocess.run(
                command, stdout=stream, stderr=subprocess.DEVNULL, env=environment, check=True
            )


def write_text(bitext: Path, text: Path) -> None:
    table = pq.read_table(bitext).to_pydict()
    sides = zip(table["source_tokens"], table["target_tokens"], strict=True)
    lines = (f"{' '.join(s)} ||| {' '.join(t)}\n" for s, t in sides if s and t)
    text.write_text("".join(lines), encoding="utf-8")


def with_children(run: Callable[[], object]) -> common.Seconds:
    """Time a call; its processor time includes that of child processes."""
    before = sum(os.times()[:4])
    time, _ = common.timed(run)
    return time._replace(processor=sum(os.times()[:4]) - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bitext", type=Path, help="Parquet of schema BITEXT; default: synthetic")
    parser.add_argument("--sentences", type=int, default=20_000, help="of the synthetic bitext")
    parser.add_argument("--gold", type=Path, nargs="+", help="file(s) of hand-aligned sentences")
    parser.add_argument("--gold-format", default="xlwa", help="see corpora.gold_alignment")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fast-align", default="fast_align", help="binary, by name or path")
    parser.add_argument("--atools", default="atools", help="binary, by name or path")
    arguments = common.parse(parser, sentences=30, threads=1, rounds=1)
    gold = read_gold(arguments.gold, arguments.gold_format) if arguments.gold else []
    binary, threads = shutil.which(arguments.fast_align), arguments.threads

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bitext = arguments.bitext
        if bitext is None:
            bitext = folder / "bitext.parquet"
            synthetic_bitext(bitext, arguments.sentences)
        contestants: dict[str, Callable[[], object]] = {
            "numpy": lambda: align(bitext, folder / "links", threads=threads)
        }
        if binary:
            text, atools = folder / "text", shutil.which(arguments.atools)
            write_text(bitext, text)
            contestants["binary"] = lambda: call_binary(binary, atools, text, folder, threads)
        turns = {name: lambda run=run: with_children(run) for name, run in contestants.items()}
        times = common.take_turns(turns, arguments.rounds)
        seconds = {name: min(time.wall for time in rounds) for name, rounds in times.items()}
        processor = {name: min(time.processor for time in rounds) for name, rounds in times.items()}
        print(f"{pq.read_metadata(bitext).num_rows} sentence pairs, {threads} threads")
        for contestant, elapsed in seconds.items():
            ratio = ""
            if binary and contestant != "binary":
                ratio = f", {seconds['binary'] / elapsed:.2f} times the binary's speed"
            print(f"{contestant}: {elapsed:.2f} s ({processor[contestant]:.2f} s of CPU){ratio}")
        if not binary:
            print(
                "fast_align: absent (no conda package exists; build "
                "https://github.com/clab/fast_align to compare)"
            )
        if gold:
            result = align(bitext, folder / "links", gold=gold, threads=threads)
            print(
                f"AER {result['aer']:.4f}, precision {result['precision']:.4f}, "
                f"recall {result['recall']:.4f} on {result['sentences']} sentences"
            )


if __name__ == "__main__":
    main()

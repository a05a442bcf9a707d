"""What the benchmarks share: the package on the path, options, timing, a random BERT.

Import it before NumPy and torch, which read the number of threads when they are imported.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # waiting threads leave a busy machine alone


def parse(parser: argparse.ArgumentParser, **smallest: Any) -> argparse.Namespace:
    """Parse the command line; ``--smallest`` sets the options given here, to test the benchmark."""
    parser.add_argument("--smallest", action="store_true", help="run in seconds, as the tests do")
    options = parser.parse_args()
    if options.smallest:
        vars(options).update(smallest)
    return options


class Seconds(NamedTuple):
    """Wall and processor time of one run."""

    wall: float
    processor: float  # of all threads together, less sensitive to other load than the wall time

    def since(self, start: Seconds) -> Seconds:
        """Return the time between two readings of the clocks."""
        return Seconds(self.wall - start.wall, self.processor - start.processor)

    def __str__(self) -> str:
        return f"{self.wall:.2f} ({self.processor:.2f})"


def now() -> Seconds:
    """Read both clocks."""
    return Seconds(time.perf_counter(), time.process_time())


def timed(action: Callable[[], Any]) -> tuple[Seconds, Any]:
    """Return the time that a call takes, and its result."""
    start = now()
    result = action()
    return now().since(start), result


def take_turns(
    contenders: Mapping[str, Callable[[], Any]], rounds: int
) -> dict[str, list[Seconds]]:
    """Time every contender once a round. One that returns Seconds timed itself."""
    times: dict[str, list[Seconds]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            whole, own = timed(run)
            times[name].append(own if isinstance(own, Seconds) else whole)
    return times


def ratio(slow: Iterable[Seconds], fast: Iterable[Seconds], kind: str = "wall") -> float:
    """Return the median over rounds of how many times longer one took than the other."""
    turns = zip(slow, fast, strict=True)
    return statistics.median(getattr(a, kind) / getattr(b, kind) for a, b in turns)


def bert_config(layers: int, hidden: int, vocabulary: int, **settings: Any) -> Any:
    """Return the configuration of a BERT whose heads have 64 dims, if it is wide enough."""
    from transformers import BertConfig

    return BertConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=max(1, hidden // 64),
        intermediate_size=4 * hidden,
        **settings,
    )


def text_lengths(random: Any, median: float, count: int, low: int, high: int, spread=0.6) -> Any:
    """Return log-normal lengths within bounds, like those of sentences or paragraphs."""
    import numpy as np

    return np.clip(random.lognormal(np.log(median), spread, count), low, high).astype(int)


def passes(model: Any, batches: Sequence[Any], loss: Callable[[Any, Any], Any]) -> None:
    """Compute and drop the gradients of batches: all that a training loop cannot save."""
    for batch in batches:
        loss(model, batch).backward()
        model.zero_grad()


class Cost(NamedTuple):
    """Cost of one process without its children: CPU and wall time in seconds, memory in MB."""

    status: int
    cpu: float
    children: float  # CPU seconds of its children
    memory: float
    threads: int
    wall: float


def watch(command: list[str], folder: Path, printed: Path, **options: Any) -> Cost:
    """Run a command in a folder and look at its process ten times a second. Linux only."""
    started = time.monotonic()
    with printed.open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, **options)
    memory, threads = 0.0, 0
    # A process that ended keeps its times in /proc until it is waited for.
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        if peak := re.search(r"VmHWM:\s+(\d+) kB", status):
            memory = int(peak[1]) / 1024
        threads = max(threads, _statistics(process.pid)[17])
        time.sleep(0.1)
    wall, numbers = time.monotonic() - started, _statistics(process.pid)
    tick = os.sysconf("SC_CLK_TCK")
    cpu, children = sum(numbers[11:13]) / tick, sum(numbers[13:15]) / tick
    return Cost(process.wait(), cpu, children, memory, threads, wall)


def _statistics(pid: int) -> list[int]:
    """Return the fields of /proc/<pid>/stat after the program's name, the state as 0."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return [0, *map(int, fields[1:])]

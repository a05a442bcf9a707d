"""What all word aligners have in common."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple, Protocol

from mbert_atlas.alignment.links import Links
from mbert_atlas.arrays import Ragged


class Align(Protocol):
    """Links the words of a bitext in both directions."""

    def __call__(
        self, source: Ragged, target: Ragged, *, program: str | None, threads: int
    ) -> tuple[Links, Links]:
        """Return the links of the forward direction (target words generated) and of the reverse.

        The sides are word ids (from 0) of each sentence; no sentence is empty, and there is one at
        least. ``threads`` never change the links. Raises a DataError as ``Aligner.version`` does.
        """


class Aligner(NamedTuple):
    """A word aligner; ``program`` is ``alignment.program`` of the config."""

    # Name and version, for cards. Raises a DataError with the fix if something is missing here.
    version: Callable[[str | None], str]
    align: Align


def in_both_directions(link: Callable[[bool], Links], threads: int) -> tuple[Links, Links]:
    """Call ``link`` with ``reverse`` false and true; two threads do so in parallel."""
    with ThreadPoolExecutor(min(threads, 2)) as pool:
        forward, reverse = pool.map(link, (False, True))
    return forward, reverse


def as_texts(side: Ragged) -> list[list[str]]:
    """Return word ids as words, which have neither blanks nor separators, by sentence."""
    words = side.values.astype(str).tolist()
    return [words[start:stop] for start, stop in pairwise(side.offsets.tolist())]

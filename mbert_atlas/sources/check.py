"""Whether every source of a run can be had: all servers are asked before a large transfer."""

import fnmatch
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from mbert_atlas.errors import AtlasError
from mbert_atlas.files import what_it_is_instead
from mbert_atlas.progress import track
from mbert_atlas.sources.addresses import (
    NoDumpError,
    OtherFilesError,
    answer,
    list_parts,
    require_known_list,
)
from mbert_atlas.sources.download import AnswerError, Session
from mbert_atlas.sources.fetch import Sources
from mbert_atlas.sources.hub import hub_answer
from mbert_atlas.sources.lock import LOCK
from mbert_atlas.sources.register import SNAPSHOT_PATTERNS, Address, SourceFile, snapshot_path

_HEAD = 512  # bytes that are requested
_TIMEOUT = (10.0, 20.0)  # seconds to connect, and for an answer
_AT_ONCE = 32  # requests, over all hosts
State = Literal[
    "here", "found", "moved", "by hand", "missing", "locked", "changed", "not the data", "no answer"
]
_STATES: dict[int | None, State] = {
    **dict.fromkeys((401, 403, 451), "locked"),
    **dict.fromkeys((404, 410), "missing"),
    200: "not the data",
}
_FIXES: dict[State, str] = {
    "found": "nothing to do, the dataset card will state it",
    "moved": "nothing now; correct the address in resources/sources.yaml some day",
    "missing": "correct the address in resources/sources.yaml, or use a mirror folder",
    "locked": "open the address in a browser, and put the file into a mirror folder",
    "changed": "use a mirror folder with the earlier one, or accept it in register or sources.lock",
    "not the data": "open the address in a browser, and put the file into a mirror folder",
    "no answer": "try again later, or put the file into a mirror folder",
}


@dataclass(frozen=True)
class Finding:
    """What the check of one source found."""

    path: str
    state: State
    size: int | None = 0  # bytes to fetch; none: unknown
    detail: str = ""  # where, and what was seen there
    fix: str = ""

    @property
    def is_usable(self) -> bool:
        """Whether it is here or can be fetched."""
        return self.state in ("here", "found", "moved")


def check(
    paths: Iterable[str], snapshots: Iterable[tuple[str, str]], sources: Sources
) -> list[Finding]:
    """Request the first bytes of every file, and the list of every hub snapshot, not here yet.

    All hosts at the same time, each with four requests at a time.

    Raises DataError if a path is unknown, or the mirror or the lock has a wrong line.
    """
    if sources.lock:
        _ = sources.lock.files  # read once, not by every thread
    session = Session(sources.contact, tries=2, longest_wait=30, timeout=_TIMEOUT, give_up=3)
    calls: list[Callable[[], Finding]] = [
        *(partial(_check_file, path, sources, session) for path in paths),
        *(partial(_check_snapshot, *hub, sources) for hub in snapshots),
    ]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        running = [pool.submit(call) for call in calls]
        return [future.result() for future in track(running, "checking sources")]


def _check_file(path: str, sources: Sources, session: Session) -> Finding:
    copies, file = sources.copies, Path(sources.downloads or "") / path
    if copies and copies.holder(path):
        copies.parts(path)
        return Finding(path, "here")
    source = sources.register.locate(path)
    if file.is_file() and sources.holds(path, file, source):
        return Finding(path, "here")
    if not source.addresses:
        steps = f"{source.entry.steps}, then save it as {file}"
        return Finding(path, "by hand", 0, source.entry.title, steps)
    try:
        dated, addresses = sources.addresses(path, source, session)
    except AnswerError as error:
        return _failed(path, error)
    findings: list[Finding] = []
    for address in addresses:
        look = _look_at_folder if source.is_folder else _look_at_file
        try:
            findings.append(look(path, dated, address, session))
        except AnswerError as error:
            findings.append(_failed(path, error))
        if findings[-1].is_usable:
            break
    *before, last = findings
    seen = [one.detail for one in findings if one.detail]
    if last.is_usable and dated.date != source.date:
        why = (
            f"{LOCK} has it" if sources.locked(path, source) else f"there is none of {source.date}"
        )
        seen.append(f"the dump of {dated.date}, as {why}")
    if last.is_usable and before:
        last = replace(last, state="moved", fix=_FIXES["moved"])
        seen.append(f"{addresses[len(before)].url} has it")
    chosen = last if last.is_usable else findings[0]
    return replace(chosen, detail="; ".join(seen), fix=chosen.fix or _FIXES.get(chosen.state, ""))


def _look_at_file(path: str, _: SourceFile, address: Address, session: Session) -> Finding:
    """Request the first bytes of a file."""
    with answer(session, address.url, Range=f"bytes=0-{_HEAD - 1}") as response:
        header = "Content-Range" if response.status_code in (206, 416) else "Content-Length"
        whole = response.headers.get(header, "").rpartition("/")[2]
        size = int(whole) if whole.isdecimal() else None
        start = response.raw.read1(_HEAD)
        kind = response.headers.get("Content-Type", "")
        moved = [one.url for one in response.history if one.is_permanent_redirect]
    if other := what_it_is_instead(start) or ("an HTML page" if "text/html" in kind else ""):
        return _finding(path, "not the data", size, f"{address.url} sends {other}")
    if address.bytes not in (None, size):
        detail = f"{address.url} has {size} bytes, not {address.bytes}"
        return _finding(path, "changed", size, detail)
    if size == 0:
        return _finding(path, "not the data", size, f"{address.url} sends an empty file")
    if moved:
        return _finding(path, "moved", size, f"{moved[0]} has moved to {response.url}")
    return Finding(path, "found", size)


def _look_at_folder(path: str, source: SourceFile, listed: Address, session: Session) -> Finding:
    """Request the list of a folder, and the first bytes of every part."""
    named = list_parts(source, session)
    require_known_list(source, listed, named)
    parts = [_look_at_file(path, source, address, session) for address in named.values()]
    first = next((one for one in parts if not one.is_usable), parts[0])
    sizes = [one.size for one in parts]
    return replace(first, size=None if None in sizes else sum(filter(None, sizes)))


def _check_snapshot(repository: str, revision: str, sources: Sources) -> Finding:
    path = snapshot_path(repository, revision)
    if (Path(sources.downloads or "") / path).exists():
        return Finding(path, "here")
    if sources.copies and sources.copies.files_under(path):
        return Finding(path, "here")
    import huggingface_hub  # here, because it takes a while

    try:
        info = huggingface_hub.HfApi().model_info(
            repository, revision=revision, files_metadata=True, timeout=20
        )
    except Exception as error:  # its own kinds and those of its network library
        return _failed(path, AnswerError(f"the hub's {repository}", *hub_answer(error), ""))
    sizes = [
        file.size or 0
        for file in info.siblings or ()
        if any(fnmatch.fnmatch(file.rfilename, pattern) for pattern in SNAPSHOT_PATTERNS)
        if "/" not in file.rfilename
    ]
    return Finding(path, "found", sum(sizes))


def _failed(path: str, error: AnswerError) -> Finding:
    state: State = _STATES.get(error.status, "no answer")
    if isinstance(error, OtherFilesError):
        state = "changed"
    is_special = isinstance(error, NoDumpError | OtherFilesError)
    fix = error.fix if is_special else ""  # else what fits the state
    return _finding(path, state, None, f"{error.path}: {error.problem}", fix)


def _finding(path: str, state: State, size: int | None, detail: str, fix: str = "") -> Finding:
    return Finding(path, state, size, detail, fix or _FIXES[state])


def report(findings: Sequence[Finding], downloads: Path | str) -> str:
    """Return a table of what is not as it should be, and the sum of all, as text."""
    odd = [one for one in findings if one.detail or not one.is_usable]
    lines = [f"{one.state:12}  {one.path}\n              {one.detail}; {one.fix}." for one in odd]
    if not findings:
        return "This config has nothing to fetch."
    counts = Counter(one.state for one in findings)
    sizes = [one.size for one in findings if one.is_usable]
    unknown, total = sizes.count(None), sum(filter(None, sizes))
    free = shutil.disk_usage(_existing(Path(downloads))).free
    also = f", {unknown} of unknown size" if unknown else ""
    by_state = ", ".join(f"{number} {state}" for state, number in counts.most_common())
    return "\n".join(
        [
            f"{len(findings)} sources: {by_state}",
            *lines,
            f"To fetch: {_bytes(total)}{also}; free in {downloads}: {_bytes(free)}",
        ]
    )


def require_space(findings: Sequence[Finding], downloads: Path | str) -> None:
    """Raise an AtlasError if the disk has no space for what is to be fetched."""
    total = sum(one.size or 0 for one in findings if one.is_usable)
    free = shutil.disk_usage(_existing(Path(downloads))).free
    if total > free:
        problem = f"{_bytes(total)} are to be fetched, {_bytes(free)} are free"
        fix = "free disk space, or name another folder as `downloads` in the config"
        raise AtlasError(f"{downloads}: {problem}; {fix}.")


def _bytes(number: int) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.1f} MB"


def _existing(folder: Path) -> Path:
    """Return a folder or the nearest one above it that exists."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())

"""Getting files: from a mirror folder first, else from upstream, checked in either case."""

import fnmatch
import logging
import shutil
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mbert_atlas.errors import DataError, TransientError
from mbert_atlas.files import (
    atomic_directory,
    atomic_path,
    full_disk_in_one_sentence,
    read_sums,
    replace_directory,
    sha256_of,
)
from mbert_atlas.sources.addresses import list_parts, nearest_dump, require_known_list, written_sums
from mbert_atlas.sources.download import Session, UnreachableError, download
from mbert_atlas.sources.hub import hub_error
from mbert_atlas.sources.lock import Lock, LockedFile
from mbert_atlas.sources.mirror import MANIFEST, Mirror
from mbert_atlas.sources.register import (
    SNAPSHOT_FOLDER,
    SNAPSHOT_PATTERNS,
    Address,
    Register,
    SourceFile,
    snapshot_path,
)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sources:
    """Where files come from: the mirror folder, if there is one, and addresses of the register."""

    register: Register
    mirror: Path | str | None = None
    offline: bool = False  # whether the network must not be used
    downloads: Path | str | None = None  # the folder whose lock is kept; none: no lock
    exact: Collection[str] = ()  # paths of dumps that no other date may replace
    contact: str | None = None  # what servers are told about who asks
    notes: bool = True  # whether new lines are written into the lock
    _dumps: dict[str, tuple[SourceFile, Address]] = field(default_factory=dict, repr=False)

    @cached_property
    def copies(self) -> Mirror | None:
        """The content of the mirror; raises DataError, see :meth:`Mirror.read`."""
        return Mirror.read(self.mirror) if self.mirror else None

    @cached_property
    def lock(self) -> Lock | None:
        """What is known of the files in the downloads folder."""
        return Lock(Path(self.downloads), self.notes) if self.downloads else None

    @cached_property
    def session(self) -> Session:
        """The connections of downloads."""
        return Session(self.contact)

    def locked(self, path: str, source: SourceFile) -> LockedFile | None:
        """Return what is known of a file since it was first fetched; the register knows better."""
        locked = self.lock.files.get(path) if self.lock else None
        if locked is None or locked.sha256 not in (source.sums or {locked.sha256}):
            return None
        is_other_date = path in self.exact and locked.url not in ("", source.url)
        return None if is_other_date else locked

    def addresses(
        self, path: str, source: SourceFile, session: Session
    ) -> tuple[SourceFile, list[Address]]:
        """Return where to look for a file in turn, and the source on the date that was found.

        A file that was fetched before is the same or none.

        Raises NoDumpError if its date must be looked up, and none is found.
        """
        locked = self.locked(path, source)
        if source.date and locked and (dated := source.found_at(locked.url)):
            source, addresses = dated, [*dated.addresses]
        elif source.date:
            if path not in self._dumps:
                exact = path in self.exact
                self._dumps[path] = nearest_dump(source, session, exact=exact)
            source, address = self._dumps[path]
            addresses = [address]
        else:
            addresses = [*source.addresses]
        if locked:
            size = None if source.is_folder else locked.bytes
            same = [item for item in addresses if item.sha256 in (None, locked.sha256)]
            # The address that had it comes first.
            same.sort(key=lambda item: item.url != locked.url)
            addresses = [Address(item.url, locked.sha256, size, item.md5) for item in same]
        return source, addresses

    def holds(self, path: str, file: Path, source: SourceFile) -> bool:
        """Whether an existing file is the one that a path stands for, as far as is known.

        One of which nothing is known is, and gets its line in the lock. A folder has its parts.
        """
        locked = self.locked(path, source)
        sums = {locked.sha256} if locked else source.sums
        hashed = self.lock.sha256_of if self.lock else sha256_of
        if sums and hashed(file) not in sums:
            return False
        if source.is_folder and not all(
            (part := file.with_name(name)).is_file() and hashed(part) == sha256
            for name, sha256 in read_sums(file).items()
        ):
            return False
        if self.lock and path not in self.lock.files:
            self.lock.add(path, file, "")
        return True

    def require_exact(self, paths: Iterable[str]) -> None:
        """Raise a DataError if a dump that no other date may replace was fetched from another."""
        for path in sorted({*paths} & {*self.exact}):
            locked = self.lock.files.get(path) if self.lock else None
            if locked and locked.url not in ("", url := self.register.locate(path).url):
                problem = f"it is {locked.url}, not {url}"
                fix = "delete the file to fetch that one, or set `exact: false`"
                raise DataError(Path(self.downloads or "") / path, "", problem, fix)


def fetch(path: str, destination: Path | str, sources: Sources) -> Path:
    """Put the file that a mirror or the register has as ``path`` at ``destination``; return that.

    The mirror comes first, see :class:`Mirror`. Otherwise a file at ``destination`` stays if its
    checksum is the registered one, or, without one, what it was when it was first fetched.
    Otherwise it is downloaded from the first address that has it. If ``path`` stands for a folder
    (SHA256SUMS), the files that it lists come first.

    Raises DataError if neither has the path, a checksum is wrong, the mirror's manifest does not
    list the file, it must be downloaded manually, the download fails, or it would need the network
    although offline; FullDiskError if the disk is full.
    """
    destination, copies = Path(destination), sources.copies
    if copies and copies.holder(path):
        if destination.is_file() and copies.origin(path, destination):
            _logger.info("%s: exists", path)  # a new copy would be newer than results
            return destination
        _logger.info("%s: from the mirror %s", path, copies.folder)
        for part in copies.parts(path):
            copies.copy(part, destination.with_name(part.rpartition("/")[2]))
        copies.copy(path, destination)
        return destination
    source = sources.register.locate(path)
    if destination.is_file():
        if sources.holds(path, destination, source):
            _logger.info("%s: exists", path)
            return destination
        _logger.warning("%s: its sha256 is not the known one; fetching it again", destination)
    if not source.addresses:
        raise _manual(path, destination, source, copies)
    if sources.offline:
        raise _offline(path, copies, str(source.url))
    dated, addresses = sources.addresses(path, source, sources.session)
    if dated.date != source.date:
        _logger.warning("%s: the dump of %s, the nearest that exists", path, dated.date)
    failures, sha256 = list[DataError](), None
    for address in addresses:
        try:
            if source.is_folder:
                _download_folder(dated, address, destination, sources)
            else:
                sha256 = download(address, destination, name=path, session=sources.session)
        except DataError as error:
            failures.append(error)
            if address is not addresses[-1]:
                _logger.warning("%s Trying the next address.", error)
            continue
        if sources.lock:
            sources.lock.add(path, destination, address.url, sha256)
        return destination
    raise failures[0] if len(failures) == 1 else _from_nowhere(path, failures)


def _download_folder(
    source: SourceFile, listed: Address, destination: Path, sources: Sources
) -> None:
    """Download the parts of a folder next to the list of their checksums, which comes last."""
    parts = list_parts(source, sources.session)
    require_known_list(source, listed, parts)
    hashed = sources.lock.sha256_of if sources.lock else sha256_of
    for name, address in parts.items():
        target = destination.with_name(name)
        if not (target.is_file() and hashed(target) == address.sha256):
            name = f"{destination.parent.name}/{name}"
            download(address, target, name=name, session=sources.session)
    with atomic_path(destination) as temporary:
        temporary.write_text(written_sums(parts), encoding="utf-8")


def _manual(path: str, destination: Path, source: SourceFile, copies: Mirror | None) -> DataError:
    entry, where = source.entry, str(destination)
    if copies:
        where += f", or as {copies.folder / path} with a line in {copies.folder / MANIFEST}"
    problem = f"{entry.title} cannot be downloaded by a program (access: {entry.access})"
    if destination.exists():
        problem += f", and the sha256 of {destination} is not the known one"
    return DataError(path, "", problem, f"{entry.steps}, then save it as {where}")


def _from_nowhere(path: str, failures: Sequence[DataError]) -> DataError:
    reasons = "; ".join(f"{error.path}: {error.problem}" for error in failures)
    problem, fix = f"no address has it ({reasons})", failures[0].fix
    if any(isinstance(error, TransientError) for error in failures):
        return UnreachableError(path, None, problem, fix)
    return DataError(path, "", problem, fix)


def origin_of(path: str, file: Path | str, sources: Sources) -> dict[str, str]:
    """Return what a dataset card states of an upstream ``file`` with a ``path`` in the register.

    That is ``dataset``, ``licence``, ``citation`` and ``read_from``: what was really read, with the
    address that had it and the date of a dump that is not the requested one. The mirror's manifest
    may say more, and vouch for a copy that was cut short or for a user's own.

    Raises DataError if the file is not the one that register, mirror or lock know, as far as one of
    them states a checksum; also see :class:`Mirror`.
    """
    file, copies = Path(file), sources.copies
    held = copies.origin(path, file) if copies else None
    if copies and held and not sources.register.find(path):  # the user's: the manifest states all
        line = copies.rows[copies.holder(path) or path]
        stated = {column: line.get(column, "") for column in ("dataset", "licence")}
        return stated | {"citation": held, "read_from": f"{path}: {held}"}
    source = sources.register.locate(path)
    entry, locked = source.entry, sources.locked(path, source)
    if held is None and not sources.holds(path, file, source):
        sums = " or ".join(sorted(source.sums)) or (locked.sha256 if locked else "another")
        problem = f"its sha256 is {sha256_of(file)}, but it is {sums} for {path}"
        raise DataError(file, "", problem, f"delete {file} and start again, so that it is fetched")
    read_from = held or source.url or entry.steps
    if locked and not held:
        read_from = locked.url or f"a file that was put there, {read_from}"
    if locked and source.date and not held:
        dated = source.found_at(locked.url)
        if dated is None:
            read_from = "a dump that was put there, of a date that is not known"
        elif dated.date != source.date:
            read_from += f", dump of {dated.date}, the nearest to {source.date}"
    return {
        "dataset": entry.id,
        "licence": entry.licence,
        "citation": entry.citation,
        "read_from": f"{path}: {read_from}",
    }


def _offline(name: str, copies: Mirror | None, address: str) -> DataError:
    elsewhere = f"the mirror {copies.folder} lacks it" if copies else "no mirror is set"
    fix = f"fetch it where there is a network, from {address}"
    return DataError(name, "", f"offline is set and {elsewhere}", fix)


def require_available(
    paths: Iterable[str], sources: Sources, downloads: Path | str | None = None
) -> None:
    """Check that files, or hub snapshots (``hf/...``), can be fetched or are in ``downloads``.

    Raises DataError if some cannot: offline all missing files, else those that must be downloaded
    manually; names each and how to get it. Also if a path is unknown, or the mirror's manifest is
    missing, wrong or incomplete.
    """
    copies, offline, hints = sources.copies, sources.offline, []
    for path in paths:
        if path.startswith(SNAPSHOT_FOLDER + "/"):
            if copies and copies.files_under(path):
                continue
            repository, _, revision = path.removeprefix(SNAPSHOT_FOLDER + "/").partition("@")
            address = f"https://huggingface.co/{repository.replace('--', '/', 1)}/tree/{revision}"
            hint = address if offline else ""
        elif copies and copies.holder(path):  # it needs no entry
            copies.parts(path)
            continue
        else:
            source = sources.register.locate(path)
            hint = source.entry.steps if source.url is None else source.url if offline else ""
        if hint and not (downloads is not None and (Path(downloads) / path).exists()):
            hints.append(f"{path} ({hint})")
    if hints:
        places = [str(place) for place in (sources.mirror, downloads) if place is not None]
        why = "offline is set" if offline else "must be downloaded manually"
        problem = f"{len(hints)} needed files are missing and {why}"
        if len(hints) == 1:
            problem = f"1 needed file is missing and {why}: {hints[0]}"
        fix = "run the target `fetch` where there is a network, or put them under these paths into "
        fix += f"a mirror folder and list them in its {MANIFEST}"
        if len(hints) > 1:
            fix += ":\n    " + "\n    ".join(hints)
        where = " and ".join(places) or "no mirror and no downloads folder"
        raise DataError(where, "", problem, fix)


def fetch_snapshot(
    repository: str, revision: str, destination: Path | str, sources: Sources
) -> Path:
    """Put a model of the Hugging Face hub at one revision into ``destination``; return that folder.

    The mirror comes first. An interrupted download resumes at the next call. Only files that match
    ``SNAPSHOT_PATTERNS`` are taken: no code and no pickled weights.

    Raises as :func:`fetch`, and a DataError if the snapshot is incomplete.
    """
    path, destination = snapshot_path(repository, revision), Path(destination)
    if (copies := sources.copies) and (held := copies.files_under(path)):
        _logger.info("%s: from the mirror %s", repository, copies.folder)
        _copy_snapshot(copies, path, held, destination)
    elif sources.offline:
        raise _offline(path, copies, f"https://huggingface.co/{repository}")
    else:
        _download_snapshot(repository, revision, destination, sources.lock)
    return destination


def _copy_snapshot(copies: Mirror, path: str, held: Iterable[str], destination: Path) -> None:
    below = {file.removeprefix(path + "/") for file in held}
    top = [name for name in below if "/" not in name]
    names = {name for pattern in SNAPSHOT_PATTERNS for name in fnmatch.filter(top, pattern)}
    _require_whole(names, copies.folder / path)
    with atomic_directory(destination) as folder:
        for name in sorted(names):
            copies.copy(f"{path}/{name}", folder / name)


def _download_snapshot(
    repository: str, revision: str, destination: Path, lock: Lock | None
) -> None:
    import huggingface_hub  # here, because it takes a while and few callers need it

    # The revision is in the name, because the hub's client may return whatever it finds there.
    part = destination.with_name(f".{destination.name}.{revision}.part")
    with full_disk_in_one_sentence(destination):
        try:
            huggingface_hub.snapshot_download(
                repository,
                revision=revision,
                local_dir=part,
                allow_patterns=list(SNAPSHOT_PATTERNS),
                ignore_patterns=["*/*"],
            )
        except Exception as error:  # its own kinds, the network library's and the system's
            if isinstance(error, OSError) and error.errno is not None:
                raise
            fix = "check name and revision and start again, or put it into a mirror as "
            fix += snapshot_path(repository, revision)
            raise hub_error(error, repository, fix, f"revision {revision}") from error
    _require_whole({file.name for file in part.iterdir()}, part)
    shutil.rmtree(part / ".cache", ignore_errors=True)  # the client's record of what is whole
    if lock:
        for file in sorted(part.iterdir()):
            path = f"{snapshot_path(repository, revision)}/{file.name}"
            locked = lock.files.get(path)
            if locked and lock.sha256_of(file) != locked.sha256:
                problem = f"the hub has another {file.name} than when it was first fetched"
                fix = f"delete its lines in {lock.file} to accept it"
                raise DataError(repository, f"revision {revision}", problem, fix)
            if not locked:
                lock.add(path, file, f"https://huggingface.co/{repository}/tree/{revision}")
    replace_directory(part, destination)


def _require_whole(names: Collection[str], folder: Path) -> None:
    """Check that a snapshot has a config, safetensors weights and a tokenizer."""
    weights = {"model.safetensors", "model.safetensors.index.json"} & {*names}
    missing = [] if "config.json" in names else ["config.json"]
    missing += [] if weights else ["model.safetensors"]
    if not ({"tokenizer.json", "vocab.txt"} & {*names} or fnmatch.filter(names, "*.model")):
        missing.append("tokenizer.json or vocab.txt or *.model")
    if missing:
        problem = f"not a complete encoder, without {' and '.join(missing)}"
        fix = "delete this folder, and the next start fetches it again"
        raise DataError(folder, "", problem, fix)

"""Getting files: from a mirror folder first, else from upstream, checked in either case."""

import fnmatch
import logging
import shutil
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import (
    atomic_directory,
    full_disk_in_one_sentence,
    replace_directory,
    sha256_of,
)
from mbert_atlas.progress import track
from mbert_atlas.sources.download import download
from mbert_atlas.sources.mirror import MANIFEST, Mirror
from mbert_atlas.sources.register import SNAPSHOT_FOLDER, SNAPSHOT_PATTERNS, Register, snapshot_path

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sources:
    """Where files come from: the mirror folder, if there is one, and addresses of the register."""

    register: Register
    mirror: Path | str | None = None
    offline: bool = False  # whether the network must not be used

    @cached_property
    def copies(self) -> Mirror | None:
        """The content of the mirror; raises DataError, see :meth:`Mirror.read`."""
        return Mirror.read(self.mirror) if self.mirror else None


def fetch(path: str, destination: Path | str, sources: Sources) -> Path:
    """Put the file that a mirror or the register has as ``path`` at ``destination``; return that.

    The mirror comes first, see :class:`Mirror`. Otherwise a file at ``destination`` stays if its
    checksum is the registered one or none is known. Otherwise it is downloaded.

    Raises DataError if neither has the path, a checksum is wrong, the mirror's manifest does not
    list the file, it must be downloaded manually, the download fails, or it would need the network
    although offline; TransientError if the disk is full.
    """
    destination, copies = Path(destination), sources.copies
    if copies and copies.holder(path):
        if destination.is_file() and copies.origin(path, destination):
            _logger.info("%s: exists", path)  # a new copy would be newer than results
            return destination
        _logger.info("%s: from the mirror %s", path, copies.folder)
        copies.copy(path, destination)
        return destination
    source = sources.register.locate(path)
    if destination.is_file():
        if source.sha256 in (None, sha256_of(destination)):
            _logger.info("%s: exists", path)
            return destination
        _logger.warning("%s: its sha256 is not the registered one; fetching it again", destination)
    if source.url is None:
        entry, where = source.entry, str(destination)
        if copies:
            where += f", or as {copies.folder / path} with a line in {copies.folder / MANIFEST}"
        problem = f"{entry.title} cannot be downloaded by a program (access: {entry.access})"
        raise DataError(path, "", problem, f"{entry.steps}, then save it as {where}")
    if sources.offline:
        raise _offline(path, copies, source.url)
    download(source.url, destination, sha256=source.sha256, name=path)
    return destination


def fetch_all(
    paths: Iterable[str],
    snapshots: Iterable[tuple[str, str]],
    downloads: Path | str,
    sources: Sources,
) -> None:
    """Put files, and hub snapshots (repository, revision), into the downloads folder.

    Existing snapshots stay. Raises AtlasError, after all others have been fetched, if some cannot
    be; names each with its reason.
    """
    folder, failures = Path(downloads), []
    fetches = [partial(fetch, path, folder / path, sources) for path in paths]
    for hub in snapshots:
        if not (target := folder / snapshot_path(*hub)).exists():
            fetches.append(partial(fetch_snapshot, *hub, target, sources))
    for fetch_one in track(fetches, "files"):
        try:
            fetch_one()
        except AtlasError as error:
            failures.append(str(error))
    if failures:
        raise AtlasError(f"{len(failures)} could not be fetched:\n" + "\n".join(failures))


def origin_of(path: str, file: Path | str, sources: Sources) -> dict[str, str]:
    """Return what a dataset card states of an upstream ``file`` with a ``path`` in the register.

    That is ``dataset``, ``licence``, ``citation`` and ``read_from``: what was really read. The
    mirror's manifest may say more, and vouch for a copy that was cut short or for a user's own.

    Raises DataError if neither register nor mirror has a file of its checksum although the register
    states one; also see :class:`Mirror`.
    """
    file, copies = Path(file), sources.copies
    held = copies.origin(path, file) if copies else None
    if copies and held and not sources.register.find(path):  # the user's: the manifest states all
        line = copies.rows[copies.holder(path) or path]
        stated = {column: line.get(column, "") for column in ("dataset", "licence")}
        return stated | {"citation": held, "read_from": f"{path}: {held}"}
    source = sources.register.locate(path)
    if held is None and source.sha256 and source.sha256 != (found := sha256_of(file)):
        problem = f"its sha256 is {found}, in the register it is {source.sha256} for {path}"
        raise DataError(file, "", problem, f"delete {file} and start again, so that it is fetched")
    entry = source.entry
    return {
        "dataset": entry.id,
        "licence": entry.licence,
        "citation": entry.citation,
        "read_from": f"{path}: {held or source.url or entry.steps}",
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
            continue
        else:
            source = sources.register.locate(path)
            hint = source.entry.steps if source.url is None else source.url if offline else ""
        if hint and not (downloads is not None and (Path(downloads) / path).exists()):
            hints.append(f"{path} ({hint})")
    if hints:
        places = [str(place) for place in (sources.mirror, downloads) if place is not None]
        what = "needed file is" if len(hints) == 1 else "needed files are"
        why = "offline is set" if offline else "must be downloaded manually"
        problem = f"{len(hints)} {what} missing and {why}: {'; '.join(hints)}"
        fix = "run the target `fetch` where there is a network, or put them under these paths into "
        fix += f"a mirror folder and list them in its {MANIFEST}"
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
        _download_snapshot(repository, revision, destination)
    return destination


def _copy_snapshot(copies: Mirror, path: str, held: Iterable[str], destination: Path) -> None:
    below = {file.removeprefix(path + "/") for file in held}
    top = [name for name in below if "/" not in name]
    names = {name for pattern in SNAPSHOT_PATTERNS for name in fnmatch.filter(top, pattern)}
    _require_whole(names, copies.folder / path)
    with atomic_directory(destination) as folder:
        for name in sorted(names):
            copies.copy(f"{path}/{name}", folder / name)


def _download_snapshot(repository: str, revision: str, destination: Path) -> None:
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
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
            fix = "check name and revision and start again, or put it into a mirror as "
            fix += snapshot_path(repository, revision)
            problem = f"the hub did not return it ({reason})"
            raise DataError(repository, f"revision {revision}", problem, fix) from error
    _require_whole({file.name for file in part.iterdir()}, part)
    shutil.rmtree(part / ".cache", ignore_errors=True)  # the client's record of what is whole
    replace_directory(part, destination)


def _require_whole(names: Collection[str], folder: Path) -> None:
    """Check that a snapshot has a config, safetensors weights and a tokenizer."""
    missing = [name for name in ("config.json", "model.safetensors") if name not in names]
    if not ({"tokenizer.json", "vocab.txt"} & {*names} or fnmatch.filter(names, "*.model")):
        missing.append("tokenizer.json or vocab.txt or *.model")
    if missing:
        problem = f"not a complete encoder, without {' and '.join(missing)}"
        fix = "delete this folder, and the next start fetches it again"
        raise DataError(folder, "", problem, fix)

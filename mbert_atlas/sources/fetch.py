"""Getting files: from a mirror folder first, else from upstream, checked in either case."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypedDict

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
from mbert_atlas.sources.register import (
    SNAPSHOT_FOLDER,
    SNAPSHOT_PATTERNS,
    Register,
    SourceFile,
    snapshot_path,
)

_logger = logging.getLogger(__name__)


class _Where(TypedDict):
    mirror: Path | str | None
    offline: bool


def fetch(
    path: str,
    destination: Path | str,
    *,
    register: Register,
    mirror: Path | str | None = None,
    offline: bool = False,
) -> Path:
    """Put the file that a mirror or the register has as ``path`` at ``destination``.

    The mirror comes first: its ``<path>``, or ``<path>.xz`` decompressed on the way, checked
    against its MANIFEST.tsv; such a file needs no entry in the register. Otherwise a file that is
    already at ``destination`` stays if its checksum is the registered one or none is known.
    Otherwise it is downloaded, from the first of its addresses that gives it.

    Args:
        path: path in the register, for example ``xnli/XNLI-1.0.zip``.
        destination: file to write.
        register: where it comes from.
        mirror: mirror folder.
        offline: never use the network.

    Returns:
        ``destination``.

    Raises:
        DataError: if neither has the path, a checksum is wrong, the mirror's manifest does not
            list the file, it must be downloaded manually, the download fails, or it would need the
            network although ``offline``.
        AtlasError: if the disk is full.
    """
    destination = Path(destination)
    copies = Mirror.read(mirror) if mirror else None
    if copies and copies.holder(path):
        if destination.is_file() and copies.origin(path, destination):
            _logger.info("%s: exists", path)  # a new copy would be newer than results
            return destination
        _logger.info("%s: from the mirror %s", path, copies.folder)
        copies.copy(path, destination)
        return destination
    source = register.locate(path)
    if destination.is_file():
        if source.sha256 in (None, sha256_of(destination)):
            _logger.info("%s: exists", path)
            return destination
        _logger.warning("%s: its sha256 is not the registered one; fetching it again", destination)
    if source.url is None:
        raise _by_hand(source, destination, copies)
    if offline:
        raise _offline(path, copies, source.url)
    _download_from([source.url, *source.more_urls], destination, source)
    return destination


def fetch_all(
    paths: Iterable[str],
    snapshots: Iterable[tuple[str, str]],
    downloads: Path | str,
    *,
    register: Register,
    mirror: Path | str | None = None,
    offline: bool = False,
) -> None:
    """Put files and hub snapshots into the downloads folder, one source after the other.

    A failure does not keep other files from being fetched.

    Args:
        paths: paths in the register or the mirror.
        snapshots: repository and revision of each; existing ones stay.
        downloads: the folder; each file goes under its path.
        register: where files come from.
        mirror: mirror folder.
        offline: never use the network.

    Raises:
        AtlasError: if some cannot be fetched; names each with its reason.
    """
    by_source: dict[str, list[str]] = {}
    for path in paths:
        source = register.find(path)
        by_source.setdefault(source.dataset if source else "own files", []).append(path)
    where: _Where = {"mirror": mirror, "offline": offline}
    failures = []
    for name, members in by_source.items():
        _logger.info("%s: %d files", name, len(members))
        for path in track(members, name):
            try:
                fetch(path, Path(downloads) / path, register=register, **where)
            except AtlasError as error:
                failures.append(str(error))
    for repository, revision in snapshots:
        destination = Path(downloads) / snapshot_path(repository, revision)
        try:
            if not destination.exists():
                fetch_snapshot(repository, revision, destination, **where)
        except AtlasError as error:
            failures.append(str(error))
    if failures:
        raise AtlasError(f"{len(failures)} could not be fetched:\n" + "\n".join(failures))


def origin_of(
    path: str, file: Path | str, *, register: Register, mirror: Path | str | None = None
) -> dict[str, str]:
    """Return what a dataset card states of an upstream file; another file is an error.

    Args:
        path: path in the register, or in the mirror's manifest.
        file: where it lies.
        register: where it comes from.
        mirror: mirror folder, whose manifest may say more, and vouch for a copy that was cut short.

    Returns:
        ``dataset``, ``licence``, ``citation`` and ``read_from``: what was really read.

    Raises:
        DataError: if neither register nor mirror has a file of its checksum although the register
            states one, as of a file that was copied there manually; also see :class:`Mirror`.
    """
    file, copies = Path(file), Mirror.read(mirror) if mirror else None
    held = copies.origin(path, file) if copies else None
    source = register.find(path)
    if source is None:  # the user's file: its line in the manifest states everything
        if copies is None or held is None:
            source = register.locate(path)
        else:
            line = copies.rows[copies.holder(path) or path]
            stated = {column: line.get(column, "") for column in ("dataset", "licence")}
            return stated | {"citation": held, "read_from": f"{path}: {held}"}
    if held is None and source.sha256 and source.sha256 != (found := sha256_of(file)):
        problem = f"its sha256 is {found}, in the register it is {source.sha256} for {path}"
        raise DataError(file, "", problem, f"delete {file} and start again, so that it is fetched")
    return {
        "dataset": source.dataset,
        "licence": source.licence,
        "citation": source.citation,
        "read_from": f"{path}: {held or source.url or source.steps}",
    }


def _download_from(urls: Sequence[str], destination: Path, source: SourceFile) -> None:
    """Try one address after the other."""
    failures = []
    for url in urls:
        try:
            return download(url, destination, sha256=source.sha256, name=source.path)
        except DataError as error:
            if len(urls) == 1:
                raise
            _logger.warning("%s", error)
            failures.append(f"{url}: {error.problem}")
    problem = f"no address worked ({'; '.join(failures)})"
    fix = "correct its entry in resources/sources.yaml or put it into a mirror folder"
    raise DataError(source.path, "", problem, fix)


def _by_hand(source: SourceFile, destination: Path, copies: Mirror | None) -> DataError:
    where = f"{destination}"
    if copies:
        where += f", or as {copies.folder / source.path} with a line in {copies.folder / MANIFEST}"
    problem = f"{source.title} cannot be downloaded by a program (access: {source.access})"
    return DataError(source.path, "", problem, f"{source.steps}, then save it as {where}")


def _offline(name: str, copies: Mirror | None, address: str) -> DataError:
    elsewhere = f"the mirror {copies.folder} lacks it" if copies else "no mirror is set"
    fix = f"fetch it where there is a network, from {address}"
    return DataError(name, "", f"offline is set and {elsewhere}", fix)


def require_available(
    paths: Iterable[str],
    *,
    register: Register,
    mirror: Path | str | None = None,
    downloads: Path | str | None = None,
    offline: bool = False,
) -> None:
    """Raise an error that names all files that cannot be fetched.

    With ``offline`` these are all missing files, else those that must be downloaded manually.

    Args:
        paths: paths in the register or the mirror, or of hub snapshots (``hf/...``, see
            :func:`snapshot_path`).
        register: where they come from.
        mirror: mirror folder.
        downloads: folder in which fetched files lie under their paths.
        offline: whether the network is out of reach.

    Raises:
        DataError: if there are any; names each and how to get it. Also if a path is unknown, or the
            mirror's manifest is missing, wrong or incomplete.
    """
    copies = Mirror.read(mirror) if mirror else None
    hints = []
    for path in paths:
        if path.startswith(SNAPSHOT_FOLDER + "/"):
            repository, _, revision = path.removeprefix(SNAPSHOT_FOLDER + "/").partition("@")
            address = f"https://huggingface.co/{repository.replace('--', '/', 1)}/tree/{revision}"
            hint = address if offline else ""
            is_held = bool(copies and copies.holds_folder(path))
        else:
            is_held = bool(copies and copies.holder(path))
            if is_held:  # it needs no entry
                continue
            source = register.locate(path)
            hint = source.steps if source.url is None else source.url if offline else ""
        is_there = downloads is not None and (Path(downloads) / path).exists()
        if hint and not is_held and not is_there:
            hints.append(f"{path} ({hint})")
    if hints:
        places = [str(place) for place in (mirror, downloads) if place is not None]
        raise DataError(
            " and ".join(places) or "no mirror and no downloads folder",
            "",
            f"{len(hints)} needed {'file is' if len(hints) == 1 else 'files are'} missing"
            + (" and offline is set" if offline else " and must be downloaded manually")
            + f": {'; '.join(hints)}",
            "run the target `fetch` where there is a network, or put them under these paths into "
            f"a mirror folder and list them in its {MANIFEST}",
        )


def fetch_snapshot(
    repository: str,
    revision: str,
    destination: Path | str,
    *,
    mirror: Path | str | None = None,
    offline: bool = False,
) -> Path:
    """Put a model of the Hugging Face hub at one revision into the folder ``destination``.

    The mirror comes first, with its folder ``hf/<organisation>--<name>@<revision>``. An interrupted
    download resumes at the next call. Of the repository only the files that match
    ``SNAPSHOT_PATTERNS`` are taken: no code and no pickled weights.

    Args:
        repository: organisation/name.
        revision: full commit hash.
        destination: folder to make.
        mirror: mirror folder.
        offline: never use the network.

    Returns:
        ``destination``.

    Raises:
        DataError: if the revision is not pinned, the snapshot is incomplete, a checksum of the
            mirror is wrong, the hub returns an error, or it would need the network although
            ``offline``.
        AtlasError: if the disk is full.
    """
    path, destination = snapshot_path(repository, revision), Path(destination)
    copies = Mirror.read(mirror) if mirror else None
    if copies and copies.holds_folder(path):
        _logger.info("%s: from the mirror %s", repository, copies.folder)
        _copy_snapshot(copies, path, destination)
    elif offline:
        raise _offline(path, copies, f"https://huggingface.co/{repository}")
    else:
        _download_snapshot(repository, revision, destination)
    return destination


def _copy_snapshot(copies: Mirror, path: str, destination: Path) -> None:
    held = [file.removeprefix(path + "/") for file in copies.files_under(path)]
    names = {
        name
        for name in held
        if "/" not in name and any(fnmatchcase(name, pattern) for pattern in SNAPSHOT_PATTERNS)
    }
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
    if not any(
        name in ("tokenizer.json", "vocab.txt") or name.endswith(".model") for name in names
    ):
        missing.append("tokenizer.json or vocab.txt or *.model")
    if missing:
        problem = f"not a complete encoder, without {' and '.join(missing)}"
        fix = "delete this folder, and the next start fetches it again"
        raise DataError(folder, "", problem, fix)

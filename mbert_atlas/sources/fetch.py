"""Getting files: from a mirror folder first, else from upstream, checked in either case."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from mbert_atlas.errors import DataError
from mbert_atlas.files import (
    atomic_directory,
    full_disk_in_one_sentence,
    replace_directory,
    sha256_of,
)
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
# Formats that can run code when they are loaded, and code itself.
_UNSAFE_SUFFIXES = {".bin", ".pt", ".pth", ".pkl", ".ckpt", ".h5", ".msgpack", ".py"}


def _by_hand(source: SourceFile, destination: Path, shelf: Mirror | None) -> DataError:
    where = f"{destination}"
    if shelf is not None:
        where += f", or as {shelf.folder / source.path} with a line in {shelf.folder / MANIFEST}"
    return DataError(
        source.path,
        "",
        f"{source.title} cannot be downloaded by a program (access: {source.access})",
        f"{source.steps}, then save it as {where}",
    )


def fetch(
    path: str,
    destination: Path | str,
    *,
    register: Register,
    mirror: Path | str | None = None,
    offline: bool = False,
) -> Path:
    """Put the file that the register knows as ``path`` at ``destination``.

    The mirror comes first: its ``<path>``, or ``<path>.xz`` decompressed on the way, checked
    against its MANIFEST.tsv. Otherwise a file that is already at ``destination`` stays if its
    checksum is the registered one or none is known. Otherwise it is downloaded.

    Args:
        path: path in the register, for example ``xnli/XNLI-1.0.zip``.
        destination: file to write.
        register: where it comes from.
        mirror: mirror folder.
        offline: never use the network.

    Returns:
        ``destination``.

    Raises:
        DataError: if the path is unknown, a checksum is wrong, the mirror's manifest does not list
            the file, a person has to get it, the download fails, or it would need the network
            although ``offline``.
        AtlasError: if the disk is full.
    """
    source = register.locate(path)
    destination = Path(destination)
    shelf = None if mirror is None else Mirror.read(mirror)
    if shelf is not None and shelf.holder(path) is not None:
        _logger.info("%s: from the mirror %s", path, shelf.folder)
        shelf.copy(path, destination)
        return destination
    if destination.is_file():
        if source.sha256 in (None, sha256_of(destination)):
            _logger.info("%s: is there already", path)
            return destination
        _logger.warning("%s: its sha256 is not the registered one; getting it again", destination)
    if source.url is None:
        raise _by_hand(source, destination, shelf)
    if offline:
        elsewhere = f"the mirror {shelf.folder} lacks it" if shelf else "no mirror is set"
        raise DataError(
            path,
            "",
            f"offline is set and {elsewhere}",
            f"fetch it where there is a network, from {source.url}",
        )
    download(source.url, destination, sha256=source.sha256, name=path)
    return destination


def missing_files(
    paths: Iterable[str],
    *,
    register: Register,
    mirror: Path | str | None = None,
    downloads: Path | str | None = None,
) -> list[str]:
    """Return those of ``paths`` that neither the mirror nor the downloads folder holds.

    A path that begins with ``hf/`` is the folder of a hub snapshot (see ``snapshot_path``).

    Args:
        paths: paths in the register, or of snapshots.
        register: used to refuse misspelt paths.
        mirror: mirror folder.
        downloads: folder in which fetched files lie under their paths.

    Raises:
        DataError: if a path is unknown, or the mirror's manifest is missing, wrong or incomplete.
    """
    shelf = None if mirror is None else Mirror.read(mirror)
    missing = []
    for path in paths:
        is_snapshot = path.startswith(SNAPSHOT_FOLDER + "/")
        if not is_snapshot:
            register.locate(path)
        if downloads is not None and (Path(downloads) / path).exists():
            continue
        if shelf is not None and (
            shelf.holds_folder(path) if is_snapshot else shelf.holder(path) is not None
        ):
            continue
        missing.append(path)
    return missing


def require_available(
    paths: Iterable[str],
    *,
    register: Register,
    mirror: Path | str | None = None,
    downloads: Path | str | None = None,
    offline: bool = False,
) -> None:
    """Refuse to start if some of ``paths`` cannot be had, and name all of these at once.

    With ``offline`` that is every file that is missing, else those that only a person can get.
    Arguments are those of :func:`missing_files`.

    Raises:
        DataError: if there are any; names each and how to get it.
    """
    missing = missing_files(paths, register=register, mirror=mirror, downloads=downloads)
    hints = []
    for path in missing:
        if path.startswith(SNAPSHOT_FOLDER + "/"):
            repository, _, revision = path.removeprefix(SNAPSHOT_FOLDER + "/").partition("@")
            repository = repository.replace("--", "/", 1)
            hint = f"https://huggingface.co/{repository}/tree/{revision}" if offline else ""
        else:
            source = register.locate(path)
            hint = source.steps if source.url is None else source.url if offline else ""
        if hint:
            hints.append(f"{path} ({hint})")
    if hints:
        places = [str(place) for place in (mirror, downloads) if place is not None]
        verb = "is" if len(hints) == 1 else "are"
        raise DataError(
            " and ".join(places) or "no mirror and no downloads folder",
            "",
            f"{len(hints)} needed file{'' if len(hints) == 1 else 's'} {verb} missing"
            + (" and offline is set" if offline else ", which a person has to get")
            + f": {'; '.join(hints)}",
            "run the target `fetch` where there is a network, or put them under these paths into "
            f"a mirror folder and list them in its {MANIFEST}",
        )


def check_snapshot(folder: Path | str) -> None:
    """Check that a folder holds an encoder: config, safetensors weights and a tokenizer.

    Raises:
        DataError: if one of them is missing, or the folder holds pickled weights or code.
    """
    folder = Path(folder)
    _check_names({path.name for path in folder.iterdir()} if folder.is_dir() else set(), folder)


def _check_names(names: set[str], folder: Path) -> None:
    missing = [name for name in ("config.json", "model.safetensors") if name not in names]
    if not names & {"tokenizer.json", "vocab.txt"} and not any(n.endswith(".model") for n in names):
        missing.append("tokenizer.json or vocab.txt or *.model")
    if missing:
        raise DataError(
            folder, "", f"not a whole encoder, without {' and '.join(missing)}", "fetch it again"
        )
    unsafe = sorted(name for name in names if Path(name).suffix in _UNSAFE_SUFFIXES)
    if unsafe:
        raise DataError(
            folder,
            unsafe[0],
            "pickled weights and code can run programs when they are loaded",
            "delete it, model.safetensors is enough",
        )


def fetch_snapshot(
    repository: str,
    revision: str,
    destination: Path | str,
    *,
    mirror: Path | str | None = None,
    offline: bool = False,
    allow_patterns: Iterable[str] = SNAPSHOT_PATTERNS,
    endpoint: str | None = None,
) -> Path:
    """Put a model of the Hugging Face hub at one revision into the folder ``destination``.

    The mirror comes first, with its folder ``hf/<organisation>--<name>@<revision>``. A download
    that broke off goes on at the next call. Code of the repository is never fetched or run.

    Args:
        repository: organisation/name.
        revision: full commit hash.
        destination: folder to make.
        mirror: mirror folder.
        offline: never use the network.
        allow_patterns: names of top-level files to take.
        endpoint: address of another hub, for example a site's proxy; default ``HF_ENDPOINT``.

    Returns:
        ``destination``.

    Raises:
        DataError: if the revision is not pinned, the snapshot is incomplete or holds pickles, a
            checksum of the mirror is wrong, the hub refuses, or it would need the network although
            ``offline``.
        AtlasError: if the disk is full.
    """
    path, patterns = snapshot_path(repository, revision), list(allow_patterns)
    destination = Path(destination)
    shelf = None if mirror is None else Mirror.read(mirror)
    if shelf is not None and shelf.holds_folder(path):
        _logger.info("%s: from the mirror %s", repository, shelf.folder)
        held = [file.removeprefix(path + "/") for file in shelf.files_under(path)]
        names = {
            name
            for name in held
            if "/" not in name and any(fnmatchcase(name, pattern) for pattern in patterns)
        }
        _check_names(names, shelf.folder / path)  # here, to name the folder that stays
        with atomic_directory(destination) as folder:
            for name in sorted(names):
                shelf.copy(f"{path}/{name}", folder / name)
        return destination
    if offline:
        elsewhere = f"the mirror {shelf.folder} lacks {path}" if shelf else "no mirror is set"
        raise DataError(
            repository,
            f"revision {revision}",
            f"offline is set and {elsewhere}",
            f"fetch it where there is a network, from https://huggingface.co/{repository}",
        )
    import huggingface_hub  # here, because it takes a while and few callers need it

    # The revision is in the name, because the hub's client may return whatever it finds there.
    part = destination.with_name(f".{destination.name}.{revision}.part")
    with full_disk_in_one_sentence(destination):
        try:
            huggingface_hub.snapshot_download(
                repository,
                revision=revision,
                local_dir=part,
                allow_patterns=patterns,
                ignore_patterns=["*/*"],
                endpoint=endpoint,
            )
        except Exception as error:  # its own kinds, the network library's and the system's
            if isinstance(error, OSError) and error.errno is not None:
                raise
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise DataError(
                repository,
                f"revision {revision}",
                f"the hub did not give it ({reason})",
                f"check name and revision and start again, or put it into a mirror as {path}",
            ) from error
    check_snapshot(part)
    shutil.rmtree(part / ".cache", ignore_errors=True)  # the client's record of what is whole
    replace_directory(part, destination)
    return destination

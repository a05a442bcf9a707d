"""The saved states of a training run, from which it resumes."""

import hashlib
import json
import logging
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from mbert_atlas.errors import AtlasError, TransientError
from mbert_atlas.files import (
    atomic_directory,
    flush_to_disk,
    full_disk_in_one_sentence,
    read_json,
    sha256_of,
    write_json,
)

_logger = logging.getLogger(__name__)
_STATES, _STATES_KEPT = "states.pt", 2


class States:
    """Folders ``step-<n>`` with the states of some ``parts``; the newest two are kept.

    Each has the checksums of its files in ``meta.json``; a damaged one is dropped, and so is one
    with another ``fingerprint``, which identifies the run.
    """

    def __init__(
        self, folder: Path, fingerprint: str, parts: Mapping[str, Any], description: str
    ) -> None:
        self.folder, self._fingerprint = folder, fingerprint
        self._parts, self._description = parts, description
        self._digests: dict[Path, str] = {}  # of files outside of states

    def load_newest(self) -> dict[str, Any] | None:
        """Load the newest state of this run, if there is one; return what was saved with it."""
        newest = None
        for leftover in self.folder.glob(".step-*.partial"):
            shutil.rmtree(leftover, ignore_errors=True)
        for state in sorted(self.folder.glob("step-*"), reverse=True):
            try:
                meta = _checked_meta(state)
                if meta["fingerprint"] != self._fingerprint:
                    message = "%s: ignores %s, the state of another run"
                    _logger.info(message, self._description, state)
                    _remove(state)
                elif newest is None:
                    saved = torch.load(state / _STATES, map_location="cpu", weights_only=True)
                    newest = meta
            except (AtlasError, OSError, ValueError, LookupError) as error:
                message = "%s: drops a damaged state, an older one or a restart follows: %s"
                _logger.warning(message, self._description, error)
                _remove(state)
        for name, part in self._parts.items() if newest else ():
            part.load_state_dict(saved[name])
        return newest

    def save(self, step: int, meta: Mapping[str, Any], files: Iterable[Path]) -> None:
        """Save a state with JSON values; ``files`` below the folder are others that it needs."""
        target = self.folder / f"step-{step:09d}"
        with writing_weights(target), atomic_directory(target) as folder:
            states = {name: part.state_dict() for name, part in self._parts.items()}
            torch.save(states, folder / _STATES)
            whole = {
                **meta,
                "fingerprint": self._fingerprint,
                "files": {file.name: sha256_of(file) for file in folder.iterdir()},
                "other_files": {str(f.relative_to(self.folder)): self._digest(f) for f in files},
            }
            write_json({**whole, "sha256": _digest_of(whole)}, folder / "meta.json")
            flush_to_disk(folder)
        flush_to_disk(self.folder)
        for older in sorted(self.folder.glob("step-*"))[:-_STATES_KEPT]:
            _remove(older)

    def _digest(self, file: Path) -> str:
        if file not in self._digests:
            self._digests[file] = sha256_of(file)
        return self._digests[file]


def _checked_meta(state: Path) -> dict[str, Any]:
    """Return ``meta.json`` of a state, if it and all files of the state are as they were saved."""
    meta = read_json(state / "meta.json")
    if not isinstance(meta, dict) or meta.pop("sha256", None) != _digest_of(meta):
        raise AtlasError(f"{state / 'meta.json'} is not what was saved.")
    for folder, saved in ((state, meta["files"]), (state.parent, meta["other_files"])):
        for name, digest in saved.items():
            if sha256_of(folder / name) != digest:
                raise AtlasError(f"{folder / name} is not what was saved.")
    return meta


def _digest_of(meta: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()


def _remove(state: Path) -> None:
    """Delete a state, complete or not; a file system that fails only costs space."""
    shutil.rmtree(state, ignore_errors=True)
    with suppress(OSError):
        state.unlink()


@contextmanager
def writing_weights(path: Path) -> Iterator[None]:
    """Turn what torch and safetensors raise into a TransientError, or a FullDiskError."""
    try:
        with full_disk_in_one_sentence(path):
            yield
    except (RuntimeError, SafetensorError) as error:
        raise TransientError(
            f"{path}: the weights cannot be written ({error}); "
            "free space or point the run at another disk, then start again."
        ) from error

"""Encoders that the repository ships: their specification, and whether they are complete.

A shipped folder has an encoder's files, the weights in half precision, and ``made.json`` with the
encoder's ``specification``, the fingerprints of the scripts (``code``) and the SHA-256 of each file
(``files``). Free of torch.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from mbert_atlas.config.model import Config
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_directory, read_json, sha256_of, write_json

MADE = "made.json"
_SIZES = {"wikipedia_pages", "stories", "foreign_words", "bitext_sentences"}
_TEXTS: Any = {"seed": True, "sizes": _SIZES}
"""Keys of the miniature's config that its running texts depend on."""
_RETRAIN = "retrain it with `make encoder`"


def specification(config: Config, name: str) -> dict[str, Any]:
    """Return all of the config that an encoder trained from scratch depends on, as plain values.

    Its section, its datasets, the miniature's keys for running texts, and the encoder whose
    tokenizer it shares. Defaults are left out, so that a new option changes nothing.
    """
    scratch = config.encoders[name].scratch
    assert scratch is not None
    bitexts = scratch.aligned_start.bitexts if scratch.aligned_start else []
    values = {
        "scratch": scratch.model_dump(mode="json", exclude={"shipped"}, exclude_defaults=True),
        "datasets": {
            dataset: config.datasets[dataset].model_dump(mode="json", exclude_defaults=True)
            for dataset in [*scratch.texts, *bitexts]
        },
        "miniature": {
            "lending": miniature.lending or miniature.languages,
            **miniature.model_dump(mode="json", include=_TEXTS),
        }
        if (miniature := config.miniature)
        else None,
    }
    if scratch.tokenizer_of:
        other = config.encoders[scratch.tokenizer_of]
        values["tokenizer"] = (
            specification(config, scratch.tokenizer_of)
            if other.scratch
            else other.model_dump(mode="json", exclude_defaults=True)
        )
    return values


def why_train(folder: Path, wanted: Mapping[str, Any]) -> str:
    """Return why a shipped encoder differs from the specification of the config; empty if not.

    Raises a DataError if ``made.json`` is damaged.
    """
    if not (folder / MADE).is_file():
        return f"{folder} has none"
    return _difference(_made(folder)["specification"], wanted, f"in {folder / MADE}")


def require_whole(folder: Path) -> dict[str, str]:
    """Check the files of a shipped encoder; return the SHA-256 of each by name.

    Raises:
        DataError: names the first file that is missing or has another SHA-256.
    """
    files: dict[str, str] = _made(folder)["files"]
    for name, expected in files.items():
        path = folder / name
        if not path.is_file() or sha256_of(path) != expected:
            problem = "has another sha256" if path.is_file() else "is missing, which is listed"
            fix = f"restore it (git checkout -- {path}) or {_RETRAIN}"
            raise DataError(path, "", f"{problem} in {MADE}", fix)
    return files


def take_shipped(folder: Path, output: Path) -> None:
    """Copy a shipped encoder, its weights in single precision; raise a DataError if damaged."""
    with atomic_directory(output) as target:
        for name in require_whole(folder):
            _copy(folder / name, target, np.float32)


def ship(
    encoder: Path, folder: Path, specification: Mapping[str, Any], code: Mapping[str, str]
) -> None:
    """Write an encoder folder as the repository ships it, replacing ``folder``.

    ``code`` are the fingerprints of the scripts that made it, by name.
    """
    with atomic_directory(folder) as target:
        for path in encoder.glob("[!.]*"):  # not Snakemake's time stamp
            _copy(path, target, np.float16)
        files = {path.name: sha256_of(path) for path in target.iterdir()}
        record = {"specification": specification, "code": code, "files": files}
        write_json(record, target / MADE)


def _copy(file: Path, folder: Path, dtype: type[np.floating[Any]]) -> None:
    """Copy a file of an encoder, its weights with another type."""
    if file.name == "model.safetensors":
        weights = {name: array.astype(dtype) for name, array in load_file(file).items()}
        save_file(weights, folder / file.name, metadata={"format": "pt"})
    else:
        shutil.copyfile(file, folder / file.name)


def _made(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = read_json(folder / MADE)
    for key in ("specification", "files"):
        if not isinstance(record, dict) or not isinstance(record.get(key), dict):
            raise DataError(folder / MADE, f"key {key}", "is no mapping", _RETRAIN)
    return record


def _difference(recorded: Any, wanted: Any, place: str, key: str = "") -> str:
    """Return the first difference, with both values; empty if there is none."""
    if not (isinstance(recorded, dict) and isinstance(wanted, Mapping)):
        one, other = (json.dumps(value, ensure_ascii=False) for value in (wanted, recorded))
        return "" if one == other else f"{key} is {one}, and {other} {place}"
    for name in [*wanted, *(name for name in recorded if name not in wanted)]:
        whole = f"{key}.{name}".removeprefix(".")
        if name not in wanted or name not in recorded:
            return f"{whole} is {'not ' if name in wanted else 'only '}{place}"
        if found := _difference(recorded[name], wanted[name], place, whole):
            return found
    return ""

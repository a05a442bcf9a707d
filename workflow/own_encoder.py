"""A config file that puts another encoder into a preset: ``python -m mbert_atlas encoder``."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from mbert_atlas import papers
from mbert_atlas.config.encoders import size_of
from mbert_atlas.config.model import Config
from mbert_atlas.encoders.folders import count_weights, facts_of
from mbert_atlas.errors import DataError, DataErrors
from mbert_atlas.files import atomic_path
from mbert_atlas.languages import Languages
from mbert_atlas.plan.needs import PRETRAINED
from mbert_atlas.plan.plan import Plan
from mbert_atlas.sources.fetch import Sources, fetch_snapshot
from mbert_atlas.sources.hub import newest_revision
from mbert_atlas.sources.register import Register, snapshot_path
from workflow.needs import check_needs
from workflow.opening import check_opening
from workflow.upstream import REGISTER

MEASURED_WITH = (21_300_000, 96_000_000)
"""Weights of layers and of word embeddings of the encoder with which the presets' memory and time
limits were measured, multilingual-e5-small."""
_TRAINED, _LOADED = 16, 4
"""Bytes a weight: itself, gradient and two moments of Adam; itself. Word embeddings are trimmed to
the words of the data before they are trained."""


def write_encoder_config(
    source: str, output: Path, presets: Sequence[Path], mirror: str | None = None
) -> str:
    """Write a config with the encoder of ``source`` over ``presets``; return it in words.

    The run is named as the file. ``source`` is ``folder:DIR`` or ``hub:ORGANISATION/NAME``, which
    is fetched at its newest revision, or at that of ``hub:ORGANISATION/NAME@REVISION``. Raises a
    DataError if the encoder can't be fetched or used.
    """
    config = papers.load(presets)
    folder, entry = _place(source, config, mirror)
    facts = facts_of(folder)
    check_opening(folder)
    entry["sentencepiece"] = facts.boundaries
    is_fitted = not facts.head and facts.family in PRETRAINED
    entry["language_model_head"] = "fitted" if is_fitted else None
    resources = _resources(config, folder)
    content: dict[str, Any] = {
        "run": re.sub("[^A-Za-z0-9_-]+", "-", output.stem),
        "preset": _preset(config, facts.layers),
        "encoders": {"mbert": entry},
        "resources": resources,
    }
    summary = f"{source}: {facts.family}, {size_of(folder / 'config.json')}"
    output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(output) as temporary:
        below = " ".join(map(str, presets)) or "no other file"
        head = f"{summary}. Written by `python -m mbert_atlas encoder`; to be given after {below}."
        _write(content, head, temporary)
        lacking = _lacking([*presets, temporary])
        if lacking:
            content["papers"] = [
                name for name in config.papers or papers.names() if name not in lacking
            ]
            _write(content, head, temporary)
        if not content.get("papers", True):
            fix = f"take another encoder or set these keys: {'; '.join(lacking.values())}"
            raise DataError(source, "", "no paper can be made with it", fix)
    most = max(item["mem_mb"] for item in resources.values())
    lines = [f"{summary}; at most {most / 1000:.1f} GB a job, computed"]
    lines += [f"Without {name}: {reason}" for name, reason in lacking.items()]
    return "\n".join(lines)


def _place(source: str, config: Config, mirror: str | None) -> tuple[Path, dict[str, Any]]:
    """Return the folder of an encoder, fetched if need be, and where the config has it from."""
    kind, _, place = source.partition(":")
    if kind not in ("hub", "folder") or not place:
        fix = "write hub:ORGANISATION/NAME, hub:ORGANISATION/NAME@REVISION or folder:DIR"
        raise DataError(source, "", "this names no encoder", fix)
    if kind == "folder":
        return Path(place), {"folder": str(Path(place).resolve())}
    repository, _, revision = place.partition("@")
    if config.offline and not revision:
        problem = "offline is set, and no revision is stated"
        raise DataError(source, "", problem, "write hub:ORGANISATION/NAME@REVISION")
    revision = revision or newest_revision(repository)
    if not re.fullmatch("[0-9a-f]{40}", revision):
        raise DataError(source, "", f"{revision!r} is no commit", "write its 40 digits")
    folder = Path(config.downloads) / snapshot_path(repository, revision)
    if not folder.exists():
        sources = Sources(Register.read(REGISTER), mirror, config.offline, config.downloads)
        fetch_snapshot(repository, revision, folder, sources)
    return folder, {"hub": {"repository": repository, "revision": revision}}


def _write(content: dict[str, Any], head: str, path: Path) -> None:
    path.write_text(f"# {head}\n{yaml.safe_dump(content, sort_keys=False, allow_unicode=True)}")


def _lacking(files: Sequence[Path]) -> dict[str, str]:
    """Return by paper what the encoder of a config lacks for some of its figures and tables."""
    config = papers.load(files)
    # Unknown languages can be removed; the start names them.
    encoder = config.encoders["mbert"].model_copy(update={"allow_unknown": True})
    config.encoders["mbert"] = encoder
    plan = Plan(config, Languages.read("resources/languages.csv"))
    lacking: dict[str, str] = {}
    for name in plan.papers:
        try:
            check_needs(plan, [name])
        except DataErrors as error:
            lacking[name] = "; ".join(dict.fromkeys(map(_in_short, error.errors)))
        except DataError as error:
            lacking[name] = _in_short(error)
    return lacking


def _in_short(error: DataError) -> str:
    return f"{error.where.removeprefix('key ')}: {error.problem}"


def _preset(config: Config, layers: int) -> str | None:
    """Return the preset for encoders of so many layers, if it has one; else the preset itself."""
    variant = f"{config.preset}-{layers}"
    return variant if [*Path("config/papers").glob(f"*.{variant}.yaml")] else config.preset


def _resources(config: Config, folder: Path) -> dict[str, dict[str, int]]:
    """Return memory and time of the rules that open an encoder, by its size."""
    layers, words = count_weights(folder)
    above = max(0, layers - MEASURED_WITH[0]), max(0, words - MEASURED_WITH[1])
    memory = (_TRAINED * above[0] + _LOADED * above[1]) / 1e6
    factor = max(1.0, layers / MEASURED_WITH[0])
    return {
        rule: {
            "mem_mb": item.mem_mb + 100 * math.ceil(memory / 100),
            "runtime": round(item.runtime * factor),
        }
        for rule, item in config.resources.items()
        if item.gpu
    }

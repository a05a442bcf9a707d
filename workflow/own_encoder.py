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
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_path
from mbert_atlas.sources.fetch import Sources, fetch_snapshot
from mbert_atlas.sources.hub import newest_revision
from mbert_atlas.sources.register import Register, snapshot_path
from mbert_atlas.tokenizer import open_tokenizer
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
    kind, _, place = source.partition(":")
    if kind not in ("hub", "folder") or not place:
        fix = "write hub:ORGANISATION/NAME, hub:ORGANISATION/NAME@REVISION or folder:DIR"
        raise DataError(source, "", "this names no encoder", fix)
    config = papers.load(presets)
    entry: dict[str, Any]
    if kind == "folder":
        folder = Path(place)
        entry = {"folder": str(folder.resolve())}
    else:
        repository, _, revision = place.partition("@")
        if config.offline and not revision:
            problem = "offline is set, and no revision is stated"
            raise DataError(source, "", problem, "write hub:ORGANISATION/NAME@REVISION")
        revision = revision or newest_revision(repository)
        if not re.fullmatch("[0-9a-f]{40}", revision):
            raise DataError(source, "", f"{revision!r} is no commit", "write its 40 digits")
        entry = {"hub": {"repository": repository, "revision": revision}}
        folder = Path(config.downloads) / snapshot_path(repository, revision)
        if not folder.exists():
            sources = Sources(Register.read(REGISTER), mirror, config.offline, config.downloads)
            fetch_snapshot(repository, revision, folder, sources)
    facts = facts_of(folder)
    check_opening(folder)
    # SentencePiece's models, and what is converted from them, have the lone boundary of words.
    is_converted = (folder / "tokenizer.json").is_file()
    words = open_tokenizer(folder).get_vocab() if is_converted else {}
    entry["sentencepiece"] = "▁" in words if is_converted else facts.tokenizer == "Unigram"
    entry["language_model_head"] = None if facts.head else "fitted"
    resources = _resources(config, folder)
    content = {
        "run": re.sub("[^A-Za-z0-9_-]+", "-", output.stem),
        "preset": _preset(config, facts.layers),
        "encoders": {"mbert": entry},
        "resources": resources,
    }
    summary = f"{source}: {facts.family}, {size_of(folder / 'config.json')}"
    output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(output) as temporary:
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
        temporary.write_text(f"# {summary}. Written by `python -m mbert_atlas encoder`.\n{text}")
    most = max(item["mem_mb"] for item in resources.values())
    return f"{summary}; at most {most / 1000:.1f} GB a job, computed"


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

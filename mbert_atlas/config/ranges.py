"""Checks that the numbers of a config are possible for its optimisers, and fit its encoders."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mbert_atlas.config import references as ref
from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.mistakes import Mistake, report
from mbert_atlas.config.runs import FinetuningRuns
from mbert_atlas.files import read_json

_MOST = {"learning_rate": 1.0, "head_learning_rate": 1.0, "weight_decay": 1.0, "epsilon": 1.0}
"""Keys of optimisers whose values are far below 1: above it, steps are larger than weights."""


def check_ranges(part: Any, place: str = "") -> None:
    """Report numbers that no optimiser can have, in a part of a config with a key."""
    if isinstance(part, ConfigModel):
        for key in type(part).model_fields:
            check_ranges(getattr(part, key), f"{place}.{key}".strip("."))
    elif isinstance(part, Mapping):
        for key, item in part.items():
            check_ranges(item, f"{place}.{key}")
    elif isinstance(part, list):
        for number, item in enumerate(part):
            check_ranges(item, f"{place}.{number}")
    key = place.rpartition(".")[2]
    if key == "betas" and isinstance(part, tuple) and not all(0 <= beta < 1 for beta in part):
        fix = "take two decay rates from 0 to below 1, such as [0.9, 0.999]"
        report(Mistake(place, f"{list(part)} are no decay rates", fix))
    elif isinstance(part, float) and part > _MOST.get(key, part):
        report(Mistake(place, f"{part} is above {_MOST[key]}", "write a smaller number"))


def positions_of(config: Any, start: str) -> int | None:
    """Return the longest input of an encoder, or of a family's; none: not known here.

    That of an encoder on the hub is not: its files may not be here.
    """
    encoder, name = None, ref.base_of(config, start)
    for _ in config.encoders:  # a chain is no longer, unless it is a circle
        encoder = config.encoders.get(name)
        if encoder and encoder.changed:
            name = encoder.changed.encoder
    if encoder and encoder.scratch:
        return int(encoder.scratch.pretraining.positions)
    file = Path(encoder.folder if encoder and encoder.folder else "") / "config.json"
    if not (encoder and encoder.folder and file.is_file()):
        return None
    values = read_json(file)
    found = values.get("max_position_embeddings")
    if not isinstance(found, int):
        return None
    # XLM-R counts positions from the number after that of the padding token.
    return found - 2 if values.get("model_type") == "xlm-roberta" else found


def check_length(config: Any, family: FinetuningRuns) -> None:
    """Report an encoding that is longer than the encoder of a family, where its size is known."""
    positions, encoding = positions_of(config, family.encoder), family.encoding
    if positions and encoding in config.encodings:
        length = config.encodings[encoding].max_length
        if length > positions:
            base = ref.base_of(config, family.encoder)
            problem = f"{length} subwords, and the encoder {base!r} takes {positions}"
            report(Mistake(f"encodings.{encoding}.max_length", problem, "take fewer"))

"""What the models of all sections share."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Protocol = Literal["published", "corrected"]
PROTOCOLS: tuple[Protocol, ...] = ("published", "corrected")


class ConfigModel(BaseModel):
    """A part of the config: unknown keys are refused, and nothing changes once it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

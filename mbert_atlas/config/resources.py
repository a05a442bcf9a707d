"""Resources of jobs."""

from __future__ import annotations

from pydantic import Field

from mbert_atlas.config.base import ConfigModel


class Resources(ConfigModel):
    """Resources of a rule's job at its first attempt; memory and time grow on each retry."""

    threads: int = Field(1, ge=1, description="CPU threads.")
    mem_mb: int = Field(2000, ge=100, description="Memory in MB.")
    runtime: int = Field(30, ge=1, description="Time limit in minutes.")
    formula: str | None = Field(
        None, description="A note: what memory and time depend on, as measured."
    )
    gpu: int = Field(0, ge=0, description="GPUs; the same code runs on the CPU without one.")

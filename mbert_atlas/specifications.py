"""Hyperparameters as data: what a config may say about a run, free of heavy imports."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Optimisation(BaseModel):
    """Hyperparameters of one training run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    optimiser: Literal["adamw", "adam"] = Field("adamw", description="Optimiser.")
    learning_rate: float = Field(5e-5, gt=0, description="Peak learning rate of the encoder.")
    head_learning_rate: float | None = Field(
        None, gt=0, description="Peak learning rate of the heads; none takes the encoder's."
    )
    betas: tuple[float, float] = Field((0.9, 0.999), description="Adam's decay rates.")
    epsilon: float = Field(1e-8, gt=0, description="Adam's epsilon.")
    weight_decay: float = Field(0.0, ge=0, description="Decoupled weight decay (adamw only).")
    schedule: Literal["linear", "constant"] = Field(
        "linear", description="After the warm-up: linear decay to zero, or constant."
    )
    warmup_fraction: float = Field(0.0, ge=0, lt=1, description="Share of the steps that warm up.")
    clip_norm: float | None = Field(None, gt=0, description="Largest gradient norm; none: no clip.")
    batch_size: int = Field(32, ge=1, description="Examples in one optimiser step.")
    epochs: int = Field(2, ge=1, description="Passes over the training data.")
    order: Literal["bucketed", "shuffled", "sequential"] = Field(
        "bucketed",
        description="Batches of similar length in random order; plain shuffling; or file order.",
    )
    token_budget: int = Field(
        8192, ge=16, description="Padded tokens in one micro-batch; larger steps are accumulated."
    )
    precision: Literal["auto", "fp32", "bf16"] = Field(
        "auto", description="auto: bf16 autocast on a GPU that has it, fp32 elsewhere."
    )
    checkpoint_seconds: float = Field(
        300.0, gt=0, description="Seconds between two saves of the resumable state."
    )

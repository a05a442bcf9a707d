"""In which precision forward passes run, and that a rerun gives the same bytes."""

from __future__ import annotations

import os
from typing import Literal

import torch

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # asked for by deterministic cuBLAS

Precision = Literal["auto", "fp32", "bf16"]


def autocast(precision: Precision, device: torch.device) -> torch.autocast:
    """Return the context in which forward passes run.

    Args:
        precision: ``auto`` takes bf16 on a GPU that has it, fp32 elsewhere.
        device: where the model is.
    """
    able = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    wanted = precision == "bf16" or (precision == "auto" and able)
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=wanted)

"""How forward passes run: in which precision, how many tokens at once, reruns to the byte."""

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


def fitting_tokens(device: torch.device) -> int:
    """Return how many padded tokens a batch without gradients should have.

    A GPU wants many to do. What a core works on should stay in its cache: batches of 8,192 tokens
    take 1.5 times (96 dimensions) to 2 times (256 and 768) as long there as those of 512.

    Args:
        device: where the model is.
    """
    return 16384 if device.type == "cuda" else 512 * torch.get_num_threads()

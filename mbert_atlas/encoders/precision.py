"""Device, precision, batch size and determinism of forward passes."""

import os
from typing import Any, Literal

import torch

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # required by deterministic cuBLAS

Precision = Literal["auto", "fp32", "bf16"]


def default_device() -> Any:  # transformers annotates PreTrainedModel.to wrongly
    """Return the GPU, if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def has_bf16(device: torch.device) -> bool:
    """Whether the device multiplies matrices in bf16; emulated, that takes up to 40 times fp32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))


def autocast(precision: Precision, device: torch.device) -> torch.autocast:
    """Return the autocast context of forward passes.

    ``auto`` takes bf16 on a GPU that has it, ``bf16`` on any device that has it; fp32 elsewhere.
    """
    takes_bf16 = precision == "bf16" or (precision == "auto" and device.type == "cuda")
    return torch.autocast(
        device.type, dtype=torch.bfloat16, enabled=takes_bf16 and has_bf16(device)
    )


def to_device(batch: dict[str, torch.Tensor], device: torch.device) -> dict[str, torch.Tensor]:
    """Return a batch on a device; the CPU does not wait for the copies."""
    return {name: item.to(device, non_blocking=True) for name, item in pinned(batch).items()}


def pinned(batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return a batch in memory from which a GPU, if there is one, copies by itself."""
    if not torch.cuda.is_available():
        return batch
    return {name: item.pin_memory() for name, item in batch.items()}


def fitting_tokens(device: torch.device) -> int:
    """Return the number of padded tokens of a batch without gradients.

    GPUs need large batches. On CPUs a batch should fit the cache: batches of 8,192 tokens take 1.5
    times (96 dimensions) to 2 times (256 and 768) as long as those of 512.
    """
    return 16384 if device.type == "cuda" else 512 * torch.get_num_threads()

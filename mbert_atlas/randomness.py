"""Independent, named streams of randomness from one run's seed."""

import hashlib

import numpy as np
import numpy.typing as npt


def derive_seed(seed: int, *names: str | int) -> int:
    """Return a 63-bit seed that depends on ``seed`` and on ``names`` and on nothing else.

    Python's ``hash`` changes from process to process, so SHA-256 is used.
    """
    text = "\x1f".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """Return NumPy's default generator on the stream ``(seed, *names)``."""
    return np.random.default_rng(derive_seed(seed, *names))


def random_subspace(random: np.random.Generator, dims: int, size: int) -> npt.NDArray[np.float32]:
    """Sample an orthonormal basis of a random subspace, shape ``(dims, size)``."""
    basis, _ = np.linalg.qr(random.normal(size=(dims, size)))
    return basis.astype(np.float32)

"""Registries: what can be chosen by a name, and the module that defines it."""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from mbert_atlas.errors import AtlasError


def resolve(reference: str) -> Any:
    """Import and return ``module:name``, the module given below ``mbert_atlas``."""
    return resolve_name(f"mbert_atlas.{reference}")


class Registry(dict[str, str]):
    """References ``module:name`` by key, which are imported when they are loaded.

    Write the entries as a literal: :mod:`mbert_atlas.fingerprint` reads them from the source.
    Messages name them by ``kind``.
    """

    def __init__(self, kind: str, entries: Mapping[str, str]) -> None:
        super().__init__(entries)
        self._kind = kind

    def load(self, key: str) -> Any:
        """Import and return an entry.

        Raises:
            AtlasError: if there is none; names the keys.
        """
        if key not in self:
            keys = ", ".join(sorted(self))
            raise AtlasError(f"There is no {self._kind} {key!r}; choose one of {keys}.")
        return resolve(self[key])

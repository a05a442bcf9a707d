"""Registries: what can be chosen by a name, and the module that defines it."""

from pkgutil import resolve_name
from typing import Any


def resolve(reference: str) -> Any:
    """Import and return ``module:name``, the module given below ``mbert_atlas``."""
    return resolve_name(f"mbert_atlas.{reference}")


class Registry(dict[str, str]):
    """References ``module:name`` by key, which are imported when they are loaded.

    Write the entries as a literal: :mod:`mbert_atlas.fingerprint` reads them from the source. It
    also reports a key that is missing, before any job starts.
    """

    def load(self, key: str) -> Any:
        """Import and return an entry."""
        return resolve(self[key])

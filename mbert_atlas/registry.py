"""Registries: what can be chosen by a name, and the module that defines it."""

from collections.abc import Iterator, Mapping
from pkgutil import resolve_name
from typing import Any

from mbert_atlas.errors import AtlasError


def resolve(reference: str) -> Any:
    """Import and return ``module:name``, the module given below ``mbert_atlas``."""
    return resolve_name(f"mbert_atlas.{reference}")


class Registry(Mapping[str, str]):
    """A mapping from keys to references ``module:name``, which are imported when they are loaded.

    Write the entries as a literal: :mod:`mbert_atlas.fingerprint` reads them from the source.

    Args:
        kind: what the entries are, for messages.
        entries: references by key, see :func:`resolve`.
    """

    def __init__(self, kind: str, entries: Mapping[str, str]) -> None:
        self._kind, self._entries = kind, dict(entries)

    def __getitem__(self, key: str) -> str:
        """Return a reference.

        Raises:
            KeyError: if there is none.
        """
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        """Yield the keys in their order."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    def load(self, key: str) -> Any:
        """Import and return an entry.

        Raises:
            AtlasError: if there is none; names the keys.
        """
        if key not in self._entries:
            keys = ", ".join(sorted(self._entries))
            raise AtlasError(f"There is no {self._kind} {key!r}; choose one of {keys}.")
        return resolve(self._entries[key])

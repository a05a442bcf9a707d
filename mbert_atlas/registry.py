"""Registries: what can be chosen by a name, and the module that defines it."""

from collections.abc import Mapping
from pkgutil import resolve_name
from types import ModuleType
from typing import Any, TypeVar

from mbert_atlas.errors import AtlasError

_T = TypeVar("_T")


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


def subclass_in(module: ModuleType, base: type[_T]) -> type[_T]:
    """Return the one subclass of a class that a module defines, and names first.

    Raises:
        LookupError: if it defines none.
    """
    for item in vars(module).values():
        if isinstance(item, type) and issubclass(item, base) and item.__module__ == module.__name__:
            return item
    raise LookupError(f"{module.__name__} defines no subclass of {base.__name__}")

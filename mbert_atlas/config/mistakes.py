"""Mistakes that only the whole config shows."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

_T = TypeVar("_T")


class Mistake(ValueError):
    """Something that only the whole config shows; pydantic knows no key for it."""

    def __init__(self, place: str, problem: str, mend: str, name: str = "") -> None:
        super().__init__(f"at {place}, {problem}; {mend}")
        self.place, self.problem, self.mend, self.name = place, problem, mend, name


_GATHERED: ContextVar[list[Mistake] | None] = ContextVar("_GATHERED", default=None)


def gathered(checks: Iterable[Callable[[_T], None]], config: _T) -> list[Mistake]:
    """Return all mistakes that checks of a config report or raise."""
    found: list[Mistake] = []
    token = _GATHERED.set(found)
    try:
        for check in checks:
            with going_on():
                check(config)
    finally:
        _GATHERED.reset(token)
    return found


@contextmanager
def going_on() -> Iterator[None]:
    """Go on after a mistake with what comes next, if mistakes are gathered.

    A name that was reported leads nowhere: that a check looks it up nonetheless is its consequence.
    """
    found = _GATHERED.get()
    before = len(found or ())
    try:
        yield
    except Mistake as mistake:
        if found is None:
            raise
        found.append(mistake)
    except (LookupError, AttributeError, AssertionError):
        if found is None or len(found) == before:
            raise


def report(mistake: Mistake) -> None:
    """Gather a mistake, see :func:`gathered`, or raise it where nothing is gathered."""
    found = _GATHERED.get()
    if found is None:
        raise mistake
    found.append(mistake)


def check_name(place: str, name: str | None, known: Iterable[str], role: str = "") -> bool:
    """Report a name that is not among the ``known`` ones; ``role`` says what they are.

    Returns:
        Whether it is among them.
    """
    known = sorted(set(known))
    if name is None or name in known:
        return True
    near = difflib.get_close_matches(name, known, 1)
    few = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
    hint = f"did you mean {near[0]!r}?" if near else f"known: {few or 'none'}"
    report(Mistake(place, f"{name!r} is not defined{role}", hint, name))
    return False

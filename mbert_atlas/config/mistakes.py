"""Mistakes that only the whole config shows."""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Mistake(ValueError):
    """Something wrong that pydantic has no key for.

    ``place`` is the key, with dots; ``problem`` is what is wrong and ``fix`` what the user can do,
    as clauses without a full stop; ``name`` is the wrong name that ``problem`` begins with, where
    several at one place become one sentence, and ``listed`` the key of the list that has the name,
    where that is another. Of a key that ``is_missing``, the place is that of what should have it.
    """

    def __init__(
        self,
        place: str,
        problem: str,
        fix: str,
        name: str = "",
        is_missing: bool = False,
        listed: str = "",
    ) -> None:
        super().__init__(f"at {place}, {problem}; {fix}")
        self.is_missing, self.listed = is_missing, listed or place
        self.place, self.problem, self.fix, self.name = place, problem, fix, name


_GATHERED: ContextVar[list[Mistake] | None] = ContextVar("_GATHERED", default=None)


@contextmanager
def gathering() -> Iterator[list[Mistake]]:
    """Yield a list that receives all mistakes that checks report or raise meanwhile."""
    mistakes: list[Mistake] = []
    token = _GATHERED.set(mistakes)
    try:
        with going_on():
            yield mistakes
    finally:
        _GATHERED.reset(token)


@contextmanager
def going_on() -> Iterator[None]:
    """Continue with what follows after a mistake, if mistakes are gathered.

    Looking up a name that was reported as unknown fails; that is no second mistake.
    """
    gathered = _GATHERED.get()
    try:
        yield
    except Mistake as mistake:
        report(mistake)
    except (LookupError, AttributeError, AssertionError):
        if not gathered:
            raise


def report(mistake: Mistake) -> None:
    """Gather a mistake, see :func:`gathering`, or raise it where nothing is gathered."""
    gathered = _GATHERED.get()
    if gathered is None:
        raise mistake
    gathered.append(mistake)


def check_name(
    place: str, name: str | None, defined: Iterable[str], role: str = "", listed: str = ""
) -> bool:
    """Report a name that is not among the ``defined`` ones; return whether it is, or is none.

    ``role`` is what these are, such as " as bitext"; ``listed`` as in :class:`Mistake`.
    """
    if name is None or name in (names := set(defined)):
        return True
    defined = sorted(names)
    near = difflib.get_close_matches(name.lower(), defined, 1)
    few = ", ".join(defined[:20])
    few += f" and {len(defined) - 20} more" if len(defined) > 20 else ""
    hint = f"did you mean {near[0]!r}?" if near else f"known: {few or 'none'}"
    report(Mistake(place, f"{name!r} is not defined{role}", hint, name, listed=listed))
    return False

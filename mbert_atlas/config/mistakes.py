"""Mistakes that only the whole config shows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class Mistake(ValueError):
    """Something that only the whole config shows; pydantic knows no key for it."""

    def __init__(self, place: str, problem: str, mend: str) -> None:
        super().__init__(f"at {place}, {problem}; {mend}")
        self.place, self.problem, self.mend = place, problem, mend


def check_name(place: str, name: str | None, known: Iterable[str], role: str = "") -> None:
    """Refuse a name that is not among the ``known`` ones; ``role`` says what they are."""
    known = sorted(known)
    if name is not None and name not in known:
        near = difflib.get_close_matches(name, known, 1)
        few = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
        hint = f"did you mean {near[0]!r}?" if near else f"known: {few or 'none'}"
        raise Mistake(place, f"{name!r} is not defined{role}", hint)

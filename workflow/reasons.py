"""Why Snakemake runs a job again: changed parameters by key, one a line."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from snakemake.persistence import ParamsChange

_FINGERPRINT = re.compile("[0-9a-f]{16}")
_ABSENT = "(none)"


def name_changes() -> None:
    """Let Snakemake state changed parameters as :func:`changes` does, not as two sets of values."""
    ParamsChange.__str__ = lambda change: "".join(
        f"\n    {line}" for line in changes(change.only_old, change.only_new)
    )


def changed_inputs(workflow: Any) -> list[str]:
    """Return which input files differ from those that finished jobs had, a line for each change."""
    counts: Counter[tuple[str, str]] = Counter()
    for job in workflow.dag.needrun_jobs(exclude_finished=False):  # a dry run ends
        if workflow.dag.reason(job).input_changed:
            old = set(workflow.persistence.input(next(iter(job.output))) or ())
            new = set(map(str, job.input))
            counts[_listed(old - new), _listed(new - old)] += 1
    return [
        f"Changed input of {count} job{'s' * (count != 1)}: {old} -> {new}"
        for (old, new), count in counts.most_common()
    ]


def _listed(files: set[str]) -> str:
    first, more = sorted(files)[:3], len(files) - 3
    return ", ".join([*first, *([f"{more} more"] if more > 0 else [])]) or _ABSENT


def changes(old: set[str], new: set[str]) -> list[str]:
    """Return the differences between parameters, given as what ``repr`` returns, one a line."""
    before, after = (sorted(map(_value, some), key=repr) for some in (old, new))
    lines: list[str] = []
    for value in before:
        other = max(after, key=lambda item: _likeness(value, item), default=None)
        if other is not None and _likeness(value, other) > 0:
            after.remove(other)
            lines += _differences(value, other)
        else:
            lines += _differences(value, _ABSENT)
    return [*lines, *(line for value in after for line in _differences(_ABSENT, value))]


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _likeness(one: Any, other: Any) -> float:
    """Return how likely two values are of one parameter, 0 if they can't be."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return len(one.keys() & other.keys()) / max(len(one.keys() | other.keys()), 1)
    kinds = [bool(_FINGERPRINT.fullmatch(str(item))) for item in (one, other)]
    return float(type(one) is type(other) and kinds[0] == kinds[1])


def _differences(old: Any, new: Any, place: str = "") -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            pair = old.get(key, _ABSENT), new.get(key, _ABSENT)
            if pair[0] != pair[1]:
                yield from _differences(*pair, f"{place}.{key}".removeprefix("."))
    elif place == "" and _FINGERPRINT.fullmatch(f"{new}") and _FINGERPRINT.fullmatch(f"{old}"):
        yield "the code"
    else:
        yield f"{place or 'a parameter'}: {_short(old)} -> {_short(new)}"


def _short(value: Any) -> str:
    text = value if value is _ABSENT else repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."

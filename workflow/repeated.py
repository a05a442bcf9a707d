"""What Snakemake works out again for every job, although it stays the same: worked out once.

A third of a dry run at paper scale was spent on signatures of functions and on the path of the
one script.
"""

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import smart_open
from snakemake.common import overwrite_function_params
from snakemake.resources import Resource


def work_out_once(workflow: Any) -> None:
    """Note the parameters of all functions in rules; remember how paths of scripts are parsed."""
    for function in {*_functions(workflow.rules)}:
        # This is how Snakemake notes them for functions that it makes itself; it reads a mapping.
        overwrite_function_params(function, inspect.signature(function).parameters)
    # Snakemake asks three times a job, and each answer is of a new class.
    smart_open.parse_uri = cache(smart_open.parse_uri)


def _functions(rules: Any) -> Iterator[Callable[..., Any]]:
    """Yield the functions of inputs, parameters and resources."""
    yield Resource.evaluate
    for rule in rules:
        items = [*rule.input, *rule.params]
        items = [getattr(getattr(item, "_file", item), "callable", item) for item in items]
        items += [item._evaluator for item in rule.resources.values()]
        yield from (item for item in items if inspect.isfunction(item))

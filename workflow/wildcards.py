"""Functions of wildcards for the inputs and parameters of rules."""

from collections.abc import Callable
from inspect import signature
from typing import Any

from workflow.plan import WorkflowPlan

_KEYS = {
    **{"datasets": "dataset", "runs": "run", "features": "features", "vectors": "dataset"},
    **{"distances": "distances", "tables": "name"},
}
"""By records of the plan or the config, the wildcard that names one."""


class ByWildcards:
    """The plan for one job: ``job.tokenizer`` is a function that Snakemake calls with wildcards.

    It calls the method ``plan.tokenizer`` with the wildcards that are named like its parameters, as
    ``job(function, **fixed)`` does with any function and some fixed arguments. ``job.runs.base`` is
    the attribute ``base`` of the run that the wildcards name.
    """

    def __init__(self, plan: WorkflowPlan) -> None:
        self._plan = plan

    def __getattr__(self, name: str) -> Any:
        item = getattr(self._plan, name, None)
        item = getattr(self._plan.config, name) if item is None else item
        return _Record(item, _KEYS[name]) if name in _KEYS else self(item)

    def __call__(self, function: Callable[..., Any], **fixed: Any) -> Callable[[Any], Any]:
        """Return a function of wildcards that calls another one."""
        names = signature(function).parameters.keys() - fixed.keys()

        def of_job(wildcards: Any) -> Any:
            values = {key: value for key, value in wildcards.items() if key in names}
            return function(**values, **fixed)

        return of_job


class _Record:
    def __init__(self, records: Any, wildcard: str) -> None:
        self._records, self._wildcard = records, wildcard

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        return lambda wildcards: getattr(self._records[wildcards[self._wildcard]], name)

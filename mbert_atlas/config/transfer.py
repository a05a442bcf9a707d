"""Tables of zero-shot transfer: test sets, conditions, and their families of runs."""

from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import Field

from mbert_atlas.config import references as ref
from mbert_atlas.config.base import PROTOCOLS, ConfigModel, Protocol
from mbert_atlas.config.marks import TargetLanguages
from mbert_atlas.config.mistakes import Mistake, check_name, going_on, report
from mbert_atlas.config.tasks import TASKS

_CORPORA = {task.corpus for task in TASKS.values() if task.transfer}
_SCORED = ref.Reference("datasets", " with scores", lambda item: item.content in _CORPORA)


class TransferTest(ConfigModel):
    """One test set of a table of zero-shot transfer."""

    dataset: Annotated[str, _SCORED] = Field(description="Dataset with predictions.")
    runs: str = Field(description="Replaces {runs} in the names of families.")
    languages: list[str] | None = None
    """Target languages, if not the table's; the dataset may lack some."""
    conditions: dict[str, str | None] | None = None
    """Conditions, if not the table's."""
    normalisation: Literal["squad", "mlqa"] = "squad"
    """qa: normalisation of answers under `corrected`; `published` always uses SQuAD's."""


class TransferTable(ConfigModel):
    """A table of scores by condition and target language."""

    model: str = Field("mbert", description="Original encoder, as in the reported numbers.")
    languages: TargetLanguages = Field(description="Target languages.")
    sources: list[str] = Field(["en"])
    """Training languages, those of one run joined by +; each replaces {source} in the names of
    families."""
    tests: dict[str, TransferTest]
    """Test sets by task name in the reported numbers."""
    conditions: dict[str, str | None]
    """Families of runs by condition; {runs} is the test's. family/language selects the run of one
    language for all targets; null leaves a condition out."""
    protocols: list[Protocol] = Field([*PROTOCOLS], description="Protocols that are measured.")
    against: dict[str, str] = Field(default_factory=dict)
    """Baseline of each condition in significance tests."""
    gains_over: Literal["original"] | None = None
    """Show gains over this condition; none: scores."""

    def families(self, test: TransferTest) -> list[tuple[str, str, str]]:
        """Return source, condition, and family (or family/language) of a test."""
        conditions = self.conditions if test.conditions is None else test.conditions
        return [
            (source, condition, family.replace("{runs}", test.runs).replace("{source}", source))
            for condition, family in conditions.items()
            if family
            for source in self.sources
        ]


def check_transfer_table(
    config: Any, place: str, table: TransferTable, contrasts: Collection[tuple[str, str]]
) -> None:
    """Report tests, conditions and languages of a table that have no runs behind them.

    ``contrasts`` are condition and baseline of each of its contrasts.
    """
    conditions, tested = set[str](), set[str]()
    for key, test in table.tests.items():
        at = f"{place}.tests.{key}"
        if test.dataset not in config.datasets:
            continue
        ref.check_languages(config, f"{at}.languages", test.languages, test.dataset)
        families = table.families(test)
        for _, condition, family in families:
            with going_on():
                where = f"{at if test.conditions else place}.conditions.{condition}"
                _check_condition(config, where, table, test, family)
        if not families:
            continue
        test_conditions = {condition for _, condition, _ in families}
        role = f" for the test {key}"
        for condition in filter(test_conditions.__contains__, table.against):
            check_name(
                f"{place}.against.{condition}", table.against[condition], test_conditions, role
            )
        check_name(f"{place}.gains_over", table.gains_over, test_conditions, role)
        conditions |= test_conditions
        tested.update(config.datasets[test.dataset].languages)
    for code in table.languages:
        check_name(f"{place}.languages", code, tested, " in any of its tests")
    paper, *_, name = place.split(".")
    for condition, baseline in table.against.items():
        if condition in conditions and (condition, baseline) not in contrasts:
            problem = f"no contrast of {condition!r} with {baseline!r} is declared for {name}"
            fix = f"declare it in mbert_atlas/papers/{paper}"
            report(Mistake(f"{place}.against.{condition}", problem, fix))


def _check_condition(
    config: Any, place: str, table: TransferTable, test: TransferTest, runs: str
) -> None:
    """Report runs (family or family/language) that do not predict a test in its languages."""
    name, _, fixed = runs.partition("/")
    if not ref.FINETUNING.check(config, place, name):
        return
    family = config.runs[name]
    if fixed and not family.languages:
        raise Mistake(place, f"{name!r} has one run for all languages", f"write {name!r}")
    if not ref.check_predicted(config, place, name, test.dataset):
        return
    for code in test.languages or table.languages:
        if code in config.datasets[test.dataset].languages:
            language = fixed or code
            ref.check_family_languages(config, place, name, [language])
            codes = [item.replace("{language}", language) for item in family.evaluate[test.dataset]]
            check_name(place, code, codes, f" in runs.{name}.evaluate.{test.dataset}")

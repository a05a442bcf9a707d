"""Tables of zero-shot transfer: test sets, conditions, and their families of runs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mbert_atlas.config.base import ConfigModel


class TransferTest(ConfigModel):
    """One test set of a table of zero-shot transfer."""

    dataset: str = Field(description="Dataset with predictions.")
    runs: str = Field(description="Replaces {runs} in the names of families.")
    languages: list[str] | None = Field(
        None, description="Target languages, if not the table's; the dataset may lack some."
    )
    conditions: dict[str, str | None] | None = Field(
        None, description="Conditions, if not the table's."
    )
    normalisation: Literal["squad", "mlqa"] = Field(
        "squad",
        description="qa: normalisation of answers under `corrected`; `published` always uses "
        "SQuAD's.",
    )


class TransferTable(ConfigModel):
    """A table of scores by condition and target language."""

    model: str = Field("mbert", description="Original encoder, as in the reported numbers.")
    languages: list[str] = Field(description="Target languages.")
    sources: list[str] = Field(
        ["en"],
        min_length=1,
        description="Training languages, those of one run joined by +; each replaces {source} in "
        "the names of families.",
    )
    tests: dict[str, TransferTest] = Field(
        description="Test sets by task name in the reported numbers."
    )
    conditions: dict[str, str | None] = Field(
        description="Families of runs by condition; {runs} is the test's. family/language selects "
        "the run of one language for all targets; null leaves a condition out."
    )
    against: dict[str, str] = Field(
        default_factory=dict,
        description="Baseline of each condition in significance tests.",
    )
    gains_over: Literal["original"] | None = Field(
        None, description="Show gains over this condition; none: scores."
    )

    def families(self, test: TransferTest) -> list[tuple[str, str, str]]:
        """Return source, condition, and family (or family/language) of a test."""
        conditions = self.conditions if test.conditions is None else test.conditions
        return [
            (source, condition, family.replace("{runs}", test.runs).replace("{source}", source))
            for condition, family in conditions.items()
            if family
            for source in self.sources
        ]

"""Tables of zero-shot transfer: test sets, conditions, and the families of runs behind them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mbert_atlas.config.base import ConfigModel


class TransferTest(ConfigModel):
    """One test set of a table of zero-shot transfer."""

    dataset: str = Field(description="Dataset that was predicted.")
    runs: str = Field(description="What {runs} stands for in the names of families.")
    languages: list[str] | None = Field(
        None, description="Target languages, if not the table's; the dataset's among them count."
    )
    conditions: dict[str, str | None] | None = Field(
        None, description="Conditions, if not the table's."
    )
    normalisation: Literal["squad", "mlqa"] = Field(
        "squad",
        description="qa: how `corrected` compares answers; `published` always as SQuAD does.",
    )


class TransferTable(ConfigModel):
    """A table of scores by condition and target language."""

    model: str = Field("mbert", description="Encoder before the change, as reported.")
    languages: list[str] = Field(description="Target languages.")
    sources: list[str] = Field(
        ["en"],
        min_length=1,
        description="Languages of training, those of one run joined by +; {source} in the names of "
        "families stands for each in turn.",
    )
    tests: dict[str, TransferTest] = Field(
        description="Test sets by their name in the reported numbers."
    )
    conditions: dict[str, str | None] = Field(
        description="Condition, and the family of runs that shows it; {runs} is the test's. "
        "family/language takes a run that is not the target's; none leaves a condition out."
    )
    against: dict[str, str] = Field(
        default_factory=dict,
        description="Which condition each condition is tested against.",
    )
    gains_over: Literal["original"] | None = Field(
        None, description="The table shows gains over this condition; none: scores."
    )

    def families(self, test: TransferTest) -> list[tuple[str, str, str]]:
        """Return source, condition, and family (or family/language) of what a test shows."""
        conditions = self.conditions if test.conditions is None else test.conditions
        return [
            (source, condition, family.replace("{runs}", test.runs).replace("{source}", source))
            for condition, family in conditions.items()
            if family
            for source in self.sources
        ]

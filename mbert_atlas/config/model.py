"""The config that all papers share; every key has a description.

:mod:`mbert_atlas.config.documentation` writes these descriptions into the files of ``config/``.
"""

from typing import ClassVar, Literal

from pydantic import Field, PrivateAttr, field_validator

from mbert_atlas.config.alignment import Alignment
from mbert_atlas.config.base import ConfigModel, FilePath, OnlyWith, Seed
from mbert_atlas.config.datasets import Dataset
from mbert_atlas.config.encoders import Encoder, FittedHead
from mbert_atlas.config.miniature import Miniature
from mbert_atlas.config.runs import Runs
from mbert_atlas.config.static_vectors import StaticVectors
from mbert_atlas.config.tasks import AnyEncoding


class Resources(ConfigModel):
    """Resources of a rule's job at its first attempt; memory and time grow on each retry."""

    threads: int = Field(1, ge=1, description="CPU threads.")
    mem_mb: int = Field(2000, ge=100, description="Memory in MB.")
    runtime: int = Field(30, ge=1, description="Time limit in minutes.")
    formula: str | None = None
    """A note: what memory and time depend on, as measured."""
    gpu: Literal[0, 1] = Field(0, description="GPUs; the same code runs on the CPU without one.")


class Config(ConfigModel):
    """What all papers share; :func:`mbert_atlas.papers.config_model` adds their sections."""

    run: str = Field("paper", pattern=r"^[A-Za-z0-9_-]+$")
    """Results go to results/<run>."""
    only_with: ClassVar[OnlyWith] = {"world": ("comparable", False)}
    comparable: bool = True
    """Whether results are comparable with the papers' (data, encoder)."""
    world: str | None = None
    """Where `comparable` is false: what verdicts refer to, in words."""
    mirror: FilePath | None = Field(None, description="Folder that every fetch looks in first.")
    downloads: FilePath = Field("resources/downloads", description="Where fetched files go.")
    offline: bool = Field(False, description="Never use the network; name all missing files.")
    contact: str | None = Field(None, pattern=r"^[ -~]+$")
    """An e-mail address or page that downloads state to servers, as Wikimedia asks."""
    without_missing: bool = False
    """Run without files that are unavailable, and skip what needs them."""
    seeds: list[Seed] = Field([1, 2, 3, 4, 5], description="Seeds of every run.")
    papers: list[str] | None = Field(None, min_length=0)
    """Papers whose configs are read and whose artifacts `all` makes; none: all."""
    preset: str | None = Field(None, pattern=r"^[A-Za-z0-9_-]+$")
    """Also read config/papers/<paper>.<preset>.yaml of each paper that has one; of small-scratch, a
    variant of small, those of small first."""
    languages_instead: dict[str, str] = Field({})
    """Languages that replace others wherever the config names one, such as {ru: de}; not in
    `files_by_language`, whose files have one language."""
    add_languages: list[str] = Field([], min_length=0)
    """Languages to evaluate, too: they are added to each dataset, evaluation, table and figure that
    can have them (docs/config.md)."""
    remove_languages: list[str] = Field([], min_length=0)
    """Languages that nothing is evaluated in."""
    miniature: Miniature | None = None
    """Generate synthetic data instead of fetching data (demo)."""
    datasets: dict[str, Dataset] = Field(description="Corpora by name.")
    alignment: Alignment = Field(default_factory=Alignment, description="Word alignment.")
    encoders: dict[str, Encoder] = Field(description="Encoders by name.")
    fitted_head: FittedHead | None = None
    """The language-model head of encoders with `language_model_head: fitted`."""
    use_shipped: bool = True
    """Use the encoders that the repository ships; false: train them."""
    static_vectors: dict[str, StaticVectors] = Field(default_factory=dict)
    """Static subword vectors by name."""
    encodings: dict[str, AnyEncoding] = Field(description="Ways to encode examples as token ids.")
    figure_style: FilePath | None = None
    """A matplotlib style sheet for all figures: fonts, grid, `savefig.dpi`, and the colours of
    lines and groups as `axes.prop_cycle`."""
    keep_models: bool = False
    """Keep the weights of every run; false: `all` deletes them after use."""
    runs: dict[str, Runs] = Field(default_factory=dict, description="Families of training runs.")
    resources: dict[str, Resources] = Field(default_factory=dict)
    """Resources of jobs by rule."""

    _left_out: list[str] = PrivateAttr(default_factory=list)

    @property
    def left_out(self) -> list[str]:
        """Where ``add_languages`` could not be added, a sentence each."""
        return self._left_out

    def facts(self) -> dict[str, str]:
        """Return preset, encoders and changed languages in words, by name, as pages state them."""
        facts = {"preset": self.preset or "paper"}
        facts |= {f"encoder {name}": item.origin for name, item in self.encoders.items()}
        if self.add_languages:
            added = ", ".join(self.add_languages)
            facts["languages added"] = (
                f"{added}; means over languages include them, not the paper's"
            )
        if self.remove_languages:
            facts["languages removed"] = ", ".join(self.remove_languages)
        return facts

    @field_validator("runs")
    @classmethod
    def _with_languages(cls, runs: dict[str, Runs]) -> dict[str, Runs]:
        """Give families without languages those of what they start from, in their order."""
        for name, family in runs.items():
            below = runs.get(family.encoder)
            if family.languages is None and below is not None and below.languages:
                runs[name] = family.model_copy(update={"languages": below.languages})
        return runs

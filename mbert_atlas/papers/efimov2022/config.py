"""The paper's section of the config, and whether it fits the rest."""

from typing import Any

from pydantic import Field

from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.mistakes import Mistake, check_name
from mbert_atlas.config.references import check_family_language, check_language, datasets_of
from mbert_atlas.config.transfer import TransferTable, check_transfer_table
from mbert_atlas.papers.efimov2022.claims import CONTRASTS


class Histograms(ConfigModel):
    """A figure of distances between words."""

    languages: list[str] = Field(description="Target languages.")
    panels: dict[str, str]
    """Panels: name, and the encoder or family of runs that it shows."""


class Section(ConfigModel):
    """What the artifacts of the paper need."""

    model: str = Field("mbert", description="Encoder of the figures before adjustment.")
    bitext: str = Field("wikimatrix", description="Bitext dataset of the pairs in the figures.")
    pairs: int = Field(10000, ge=10, description="Related, and as many unrelated, word pairs.")
    figures: dict[str, Histograms] = Field(description="Figures 1 and 2.")
    pages: str = Field(description="Wikipedia dataset whose articles Table 1 counts.")
    languages: list[str] = Field(description="Languages of Table 1.")
    tables: dict[str, TransferTable] = Field(description="Tables 2 to 9.")


def check(config: Any) -> None:
    """Check that the rest of the config has what the artifacts need.

    Raises:
        Mistake: the first one.
    """
    paper: Section = config.efimov2022
    check_name("efimov2022.model", paper.model, config.encoders)
    check_name("efimov2022.bitext", paper.bitext, datasets_of(config, "bitext"), " as a bitext")
    check_name("efimov2022.pages", paper.pages, datasets_of(config, "wikipedia"), " as wikipedia")
    for code in paper.languages:
        check_language(config, "efimov2022.languages", code, paper.pages)
    panels: dict[str, str] = {}
    for name, figure in paper.figures.items():
        at = f"efimov2022.figures.{name}"
        check_name("efimov2022.figures", name, ("figure1", "figure2"), " as a figure")
        for code in figure.languages:
            check_language(config, f"{at}.languages", code, paper.bitext)
        for panel, family in figure.panels.items():
            _check_panel(config, f"{at}.panels.{panel}", family)
            if panels.setdefault(panel, family) != family:
                raise Mistake(
                    f"{at}.panels.{panel}",
                    "a panel has one name and one family in all figures",
                    "rename it",
                )
            for code in figure.languages:
                check_family_language(config, f"{at}.languages", family, code)
    for name, table in paper.tables.items():
        declared = [(item.condition, item.baseline) for item in CONTRASTS if item.artifact == name]
        check_transfer_table(config, f"efimov2022.tables.{name}", table, declared)


def _check_panel(config: Any, place: str, family: str) -> None:
    """Check that a panel has the tokenizer of the pairs: other subwords would be other words."""
    check_name(place, family, [*config.encoders, *config.runs])
    base, seen = family, set[str]()
    while base in config.runs and base not in seen:
        seen.add(base)
        base = config.runs[base].encoder
    if base in config.encoders and base != config.efimov2022.model:
        raise Mistake(
            place,
            f"{family!r} goes back to the encoder {base!r}, and efimov2022.model is "
            f"{config.efimov2022.model!r}",
            "make them the same",
        )

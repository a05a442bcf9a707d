"""The paper's section of the config, its checks, and what it needs of encoders."""

from typing import Annotated, Any, Literal

from pydantic import Field

from mbert_atlas.config import references as ref
from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.marks import TargetLanguages
from mbert_atlas.config.mistakes import Mistake, report
from mbert_atlas.config.transfer import TransferTable, check_transfer_table
from mbert_atlas.plan.needs import Need

_Paper = Literal["table2", "table3", "table4", "table5", "table6", "table7", "table8", "table9"]
_Own = Literal["controls", "aligners"]
_COMPARED = {
    **dict.fromkeys(("table2", "table3", "table4"), "adjusted adjusted_continual"),
    "table8": "adjusted adjusted_es adjusted_ru adjusted_vi adjusted_hi",
    "table9": "adjusted_30K adjusted_100K",
}
CONTRASTS = [
    (table, condition, "adjusted" if condition == "adjusted_continual" else "original")
    for table, conditions in _COMPARED.items()
    for condition in conditions.split()
]


class Histograms(ConfigModel):
    """A figure of distances between words."""

    languages: TargetLanguages = Field(description="Target languages.")
    panels: dict[str, ref.StartName]
    """Panels: name, and the encoder or family of runs that it shows."""


class Section(ConfigModel):
    """What the artifacts of the paper need."""

    model: ref.EncoderName = Field("mbert", description="Encoder of the figures before adjustment.")
    bitext: ref.BitextName = "wikimatrix"
    """Bitext dataset of the pairs in the figures."""
    pairs: int = Field(10000, ge=10, description="Related, and as many unrelated, word pairs.")
    figures: dict[Literal["figure1", "figure2"], Histograms] = Field(description="Figures 1 and 2.")
    pages: Annotated[str, ref.corpus("wikipedia")]
    """Wikipedia dataset whose articles Table 1 counts."""
    languages: TargetLanguages = Field(description="Languages of Table 1.")
    tables: dict[Literal[_Paper, _Own], TransferTable]
    """Tables 2 to 9, and two of ours: a control, and other aligners."""


def check(config: Any) -> None:
    """Report what the artifacts need and the rest of the config lacks."""
    paper: Section = config.efimov2022
    ref.check_languages(config, "efimov2022.languages", paper.languages, paper.pages)
    panels: dict[str, str] = {}
    for number, figure in paper.figures.items():
        at = f"efimov2022.figures.{number}"
        ref.check_languages(config, f"{at}.languages", figure.languages, paper.bitext)
        for panel, family in figure.panels.items():
            ref.check_family_languages(config, f"{at}.languages", family, figure.languages)
            base = ref.base_of(config, family)
            if base in config.encoders and base != paper.model:
                # Other subwords would be other words.
                problem = f"{family!r} goes back to the encoder {base!r}, and efimov2022.model is "
                problem += repr(paper.model)
                report(Mistake(f"{at}.panels.{panel}", problem, "make them the same"))
            default = config.alignment.aligner
            for name in ref.chain(config, family):
                aligner = getattr(config.runs[name], "aligner", None) or default
                if aligner != default:
                    # It is trained on sentences that are held out from the others.
                    problem = f"{name!r} has word pairs of {aligner}, held out are those of "
                    problem += default
                    report(Mistake(f"{at}.panels.{panel}", problem, "leave the panel out"))
            if panels.setdefault(panel, family) != family:
                problem = "a panel has one name and one family in all figures"
                report(Mistake(f"{at}.panels.{panel}", problem, "rename it"))
    for name, table in paper.tables.items():
        declared = [contrast[1:] for contrast in CONTRASTS if contrast[0] == name]
        check_transfer_table(config, f"efimov2022.tables.{name}", table, declared)


def needs_of(config: Any) -> dict[str, list[Need]]:
    """Return the needs by artifact: a vocabulary that can be extended, in Table 9."""
    paper: Section = config.efimov2022
    needs: dict[str, dict[Need, None]] = {}
    for name, table in paper.tables.items():
        for test in table.tests.values():
            for _, _, family in table.families(test):
                encoder = config.encoders[ref.base_of(config, family.partition("/")[0])]
                if encoder.changed:
                    need = Need(encoder.changed.encoder, "tokenizer")
                    needs.setdefault(name, {})[need] = None
    return {name: list(some) for name, some in needs.items()}

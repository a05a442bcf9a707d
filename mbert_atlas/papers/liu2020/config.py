"""The paper's section of the config, and whether it fits the rest."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.mistakes import Mistake, check_name
from mbert_atlas.config.references import check_language, datasets_of, finetuning_families
from mbert_atlas.config.static_vectors import PairClassifier

Size = Literal["200k", "1000k"]
Window = Literal["512", "20"]
StaticMethod = Literal["glove", "word2vec"]
LONG_WINDOW, SHORT_WINDOW = "512", "20"


class Embeddings(ConfigModel):
    """What is compared in Figures 1 to 6."""

    reference: str = Field(description="The released encoder.")
    pretrained: dict[Size, dict[Window, list[str]]] = Field(
        min_length=1,
        description="Encoders from scratch by sentences per language and window, one per seed.",
    )
    static: dict[Size, dict[StaticMethod, list[str]]] = Field(
        description="Static vectors by sentences per language, one per seed."
    )


class Retrieval(ConfigModel):
    """Words found by their translations (Figures 1, 3, 5)."""

    dictionary: str = Field(description="Dictionary between English and the languages.")
    texts: str = Field(description="Running texts that contexts are taken from.")
    contexts: int = Field(100, ge=1, description="Most contexts of a word.")
    max_length: int = Field(128, ge=8, description="Longest context in pieces.")
    searched: int | None = Field(
        None, ge=1, description="Most texts of a language that are searched; none: all."
    )


class ZeroShotXnli(ConfigModel):
    """Zero-shot transfer by XNLI (Figures 2, 4, 6)."""

    dataset: str = Field(description="Test set.")
    languages: list[str] = Field(description="Its languages.")
    runs: str = Field(description="Family of fine-tunings, {encoder} standing for the encoder.")
    network: PairClassifier = Field(
        default_factory=PairClassifier, description="What learns the same from static vectors."
    )


class Translation(ConfigModel):
    """Unsupervised token translation (Tables 1 to 3, Figures 7 and 8)."""

    sentences: list[str] = Field(
        min_length=2, max_length=2, description="Parallel test and development sets (nli)."
    )
    limit: int | None = Field(None, ge=1, description="Most sentences of each; none: all.")
    max_length: int = Field(128, ge=8, description="Longest sentence in pieces.")
    languages: list[str] = Field(description="Languages beside English, both ways.")
    weights: list[float] = Field(description="alpha, what the shift is multiplied by.")
    best_of: list[float] = Field(description="Those that the best of Table 2 is chosen from.")
    rate_layer: int = Field(10, ge=0, description="Layer of the convert rates of Table 2.")
    score_layer: int = Field(11, ge=0, description="Layer of the first line of Table 2.")
    shown: dict[str, list[int] | None] = Field(
        description="Table 1: numbers of sentences by language that they become; null: none."
    )
    drawn: str = Field("el", description="Language of Figures 7 and 8.")

    @property
    def shown_sentences(self) -> dict[str, list[int]]:
        """Sorted numbers of the sentences of Table 1, by target language."""
        return {code: sorted(numbers) for code, numbers in self.shown.items() if numbers}


class ShiftedTransfer(ConfigModel):
    """XNLI with the shift (Table 4)."""

    development: str = Field(description="Development set that weights are chosen on.")
    languages: list[str] = Field(description="Languages of the table, English first.")
    runs: dict[str, tuple[str, str]] = Field(
        description="By name of the rows the families that train all layers and the upper ones."
    )
    layer: int = Field(6, ge=0, description="The hidden state that is shifted.")
    weights: list[float] = Field(description="alpha, to choose from; 0 first.")
    chosen_in: str = Field(
        description="corrected: the language whose development set, with that of English, chooses "
        "one weight for all."
    )


class Section(ConfigModel):
    """What the artifacts of the paper need."""

    embeddings: Embeddings = Field(description="What is compared.")
    layers: int = Field(12, ge=1, description="Layers of the encoders.")
    retrieval: Retrieval = Field(description="Figures 1, 3, 5.")
    inference: ZeroShotXnli = Field(description="Figures 2, 4, 6.")
    means: str = Field(description="Running texts whose means the languages are shifted by.")
    mean_texts: int = Field(10000, ge=1, description="Texts of each language in the means.")
    mean_encoding: str = Field(description="How they become token ids.")
    translation: Translation = Field(description="Tables 1 to 3, Figures 7 and 8.")
    transfer: ShiftedTransfer = Field(description="Table 4.")

    @property
    def shifted_datasets(self) -> list[str]:
        """Test and development set of Table 4."""
        return [self.inference.dataset, self.transfer.development]


def check(config: Any) -> None:
    """Refuse what the artifacts need and the rest of the config lacks.

    Raises:
        Mistake: at the first.
    """
    paper: Section = config.liu2020
    at = "liu2020"
    own = paper.embeddings
    check_name(f"{at}.embeddings.reference", own.reference, config.encoders)
    for size, windows in own.pretrained.items():
        for window, names in windows.items():
            for name in names:
                check_name(f"{at}.embeddings.pretrained.{size}.{window}", name, config.encoders)
    for size, methods in own.static.items():
        for method, names in methods.items():
            for name in names:
                check_name(f"{at}.embeddings.static.{size}.{method}", name, config.static_vectors)
    dictionaries = datasets_of(config, "dictionary")
    check_name(f"{at}.retrieval.dictionary", paper.retrieval.dictionary, dictionaries)
    check_name(f"{at}.retrieval.texts", paper.retrieval.texts, config.datasets)
    encodings = [name for name, item in config.encodings.items() if item.task == "text"]
    check_name(f"{at}.mean_encoding", paper.mean_encoding, encodings, " for texts")
    texts = datasets_of(config, "language_identification")
    check_name(f"{at}.means", paper.means, texts, " as texts")
    pairs = datasets_of(config, "nli")
    for name in paper.translation.sentences:
        check_name(f"{at}.translation.sentences", name, pairs, " as NLI set")
        for code in ["en", *paper.translation.languages]:
            check_language(config, f"{at}.translation.languages", code, name)
            check_language(config, f"{at}.translation.languages", code, paper.means)
    check_name(f"{at}.transfer.development", paper.transfer.development, pairs, " as NLI set")
    if paper.transfer.languages[:1] != ["en"]:
        raise Mistake(
            f"{at}.transfer.languages",
            f"{paper.transfer.languages} does not begin with en, the language of training",
            "put en first",
        )
    for code in paper.transfer.languages:
        check_language(config, f"{at}.transfer.languages", code, paper.means)
    if paper.transfer.weights[:1] != [0]:
        raise Mistake(
            f"{at}.transfer.weights",
            f"{paper.transfer.weights} does not begin with 0, which is no shift",
            "put 0 first",
        )
    families = finetuning_families(config)
    for row, both in paper.transfer.runs.items():
        for family in both:
            check_name(f"{at}.transfer.runs.{row}", family, families, " as fine-tuning")
    pretrained = [
        name for windows in own.pretrained.values() for names in windows.values() for name in names
    ]
    for name in [own.reference, *pretrained]:
        family = inference_family(paper, name)
        check_name(f"{at}.inference.runs", family, families, " as fine-tuning")


def inference_family(paper: Section, encoder: str) -> str:
    """Return the family of fine-tuning runs of an encoder that Figures 2, 4 and 6 compare."""
    return paper.inference.runs.replace("{encoder}", encoder)

"""The paper's section of the config, its checks, and what it needs of encoders."""

from operator import attrgetter
from typing import Annotated, Any, Literal

from pydantic import Field

from mbert_atlas.config import references as ref
from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.marks import TargetLanguages
from mbert_atlas.config.mistakes import Mistake, check_name, report
from mbert_atlas.config.static_vectors import PairClassifier
from mbert_atlas.plan.needs import Need, deepest_layer

Size = Literal["200k", "1000k"]
Window = Literal["512", "20"]
Row = Literal["finetune", "stripped"]
StaticMethod = Literal["glove", "word2vec"]
_StaticName = Annotated[str, ref.Reference("static_vectors")]
LONG_WINDOW, SHORT_WINDOW = "512", "20"
TEST, DEVELOPMENT = 0, 1
"""Parts of the parallel sentences, in the order of :attr:`Translation.sentences`."""
TRANSLATED = ("table1", "table2", "figure7", "figure8")
"""Artifacts of tokens that the language-model head predicts."""


class Embeddings(ConfigModel):
    """Embeddings compared in Figures 1 to 6."""

    reference: ref.EncoderName = Field(description="The released encoder.")
    pretrained: dict[Size, dict[Window, list[ref.EncoderName]]] = Field(min_length=1)
    """Encoders pretrained from scratch, by sentences per language and by context window, one per
    seed."""
    static: dict[Size, dict[StaticMethod, list[_StaticName]]]
    """Static vectors by sentences per language, one per seed."""


class Retrieval(ConfigModel):
    """Word retrieval (Figures 1, 3, 5)."""

    dictionary: Annotated[str, ref.corpus("dictionary")]
    """Dictionary between English and the languages."""
    texts: ref.DatasetName = Field(description="Running texts that the contexts come from.")
    contexts: int = Field(100, ge=1, description="Most contexts of a word.")
    max_length: int = Field(128, ge=8, description="Longest context in tokens.")
    searched: int | None = Field(None, ge=1)
    """Most texts of a language that are searched; none: all."""


class ZeroShotXnli(ConfigModel):
    """Zero-shot XNLI (Figures 2, 4, 6)."""

    dataset: ref.NliName = Field(description="Test set.")
    languages: TargetLanguages = Field(description="Its languages.")
    runs: str = Field(description="Family of fine-tuning runs; {encoder} stands for the encoder.")
    network: PairClassifier = Field(default_factory=PairClassifier)
    """Classifier on static vectors, trained on the same pairs."""


class Translation(ConfigModel):
    """Unsupervised token translation (Tables 1 to 3, Figures 7 and 8)."""

    sentences: list[ref.NliName] = Field(min_length=2, max_length=2)
    """Parallel test and development sets (nli)."""
    limit: int | None = Field(None, ge=1, description="Most shifted sentences of each; none: all.")
    max_length: int = Field(128, ge=8, description="Longest sentence in tokens.")
    languages: TargetLanguages = Field(description="Languages translated to and from English.")
    weights: list[float] = Field(description="alpha, the factors of the shift.")
    best_of: list[float] = Field(min_length=1)
    """Weights that the best one of Table 2 is chosen from."""
    rate_layer: int = Field(10, ge=1, description="Layer of the convert rates of Table 2.")
    score_layer: int = Field(11, ge=1, description="Layer of the first line of Table 2.")
    shown: dict[str, list[Annotated[int, Field(ge=0)]] | None]
    """Table 1: numbers of sentences by target language; null: none."""
    drawn: str = Field("el", description="Target language of Figures 7 and 8.")

    @property
    def shown_sentences(self) -> dict[str, list[int]]:
        """Sorted numbers of the sentences of Table 1, by target language."""
        return {code: sorted(numbers) for code, numbers in self.shown.items() if numbers}


class ShiftedTransfer(ConfigModel):
    """Zero-shot XNLI with the shift (Table 4)."""

    development: ref.NliName = Field(description="Development set that the weights are chosen on.")
    languages: TargetLanguages = Field(description="Languages of the table, English first.")
    runs: dict[Row, tuple[ref.FinetuningName, ref.FinetuningName]]
    """Families that fine-tune all layers and the upper ones, by name of the rows."""
    layer: int = Field(6, ge=0, description="The hidden state that is shifted.")
    weights: list[float] = Field(description="alpha, the factors to choose from; 0 first.")
    chosen_in: str
    """corrected: the language on whose development set, with that of English, one weight for all
    languages is chosen."""


class Section(ConfigModel):
    """Settings of the paper's figures and tables."""

    embeddings: Embeddings = Field(description="Figures 1 to 6: compared embeddings.")
    layers: int = Field(12, ge=1, description="Layers of the encoders.")
    retrieval: Retrieval = Field(description="Figures 1, 3, 5.")
    inference: ZeroShotXnli = Field(description="Figures 2, 4, 6.")
    means: ref.LanguageTexts
    """Running texts that the language means are computed from."""
    mean_texts: int = Field(10000, ge=1, description="Texts of each language in the means.")
    mean_encoding: ref.TextEncoding = Field(description="Encoding of these texts.")
    translation: Translation = Field(description="Tables 1 to 3, Figures 7 and 8.")
    transfer: ShiftedTransfer = Field(description="Table 4.")

    @property
    def shifted_datasets(self) -> list[str]:
        """Test and development set of Table 4."""
        return [self.inference.dataset, self.transfer.development]


def check(config: Any) -> None:
    """Report what the artifacts need and the rest of the config lacks."""
    paper: Section = config.liu2020
    at, transfer, sizes = "liu2020", paper.transfer, paper.embeddings.pretrained.values()
    pretrained = (name for windows in sizes for names in windows.values() for name in names)
    test, codes = paper.inference.dataset, paper.inference.languages
    for name in [paper.embeddings.reference, *pretrained]:
        family = inference_family(paper, name)
        if ref.FINETUNING.check(config, f"{at}.inference.runs", family):
            codes = ref.check_evaluated(config, f"{at}.inference", family, test, codes)
    if dictionary := config.datasets.get(paper.retrieval.dictionary):
        place, texts = f"{at}.retrieval.texts", paper.retrieval.texts
        ref.check_languages(config, place, ["en"], texts)
        listed = f"datasets.{paper.retrieval.dictionary}.languages"
        ref.check_languages(config, place, dictionary.languages, texts, listed)
    translated = ["en", *paper.translation.languages]
    for name in [*paper.translation.sentences, paper.means]:
        ref.check_languages(config, f"{at}.translation.languages", translated, name)
    for name in [paper.means, transfer.development]:
        ref.check_languages(config, f"{at}.transfer.languages", transfer.languages, name)
    codes = transfer.languages
    for family in dict.fromkeys(name for families in transfer.runs.values() for name in families):
        codes = ref.check_evaluated(config, f"{at}.transfer", family, test, codes)
    role = f" in {at}.translation.languages"
    named = {"drawn": [paper.translation.drawn], "shown": [*paper.translation.shown_sentences]}
    for key, codes in named.items():
        for code in codes:
            check_name(f"{at}.translation.{key}", code, paper.translation.languages, role)
    ref.check_languages(
        config, f"{at}.transfer.chosen_in", [transfer.chosen_in], transfer.development
    )
    _check_translation(paper.translation)
    for place in ("translation.rate_layer", "translation.score_layer", "transfer.layer"):
        if (layer := attrgetter(place)(paper)) > paper.layers:
            problem = f"{layer} is above liu2020.layers ({paper.layers})"
            report(Mistake(f"{at}.{place}", problem, f"name a layer up to {paper.layers}"))
    for key, first, meaning in (
        ("languages", "en", "the training language"),
        ("weights", 0, "which is no shift"),
    ):
        values = getattr(transfer, key)
        if values[0] != first:
            problem = f"{values} does not begin with {first}, {meaning}"
            report(Mistake(f"{at}.transfer.{key}", problem, f"put {first} first"))


def _check_translation(translation: Translation) -> None:
    """Report sentences that are not shifted, and weights without a translation."""
    at, limit = "liu2020.translation", translation.limit
    for code, numbers in translation.shown_sentences.items():
        if limit is not None and numbers[-1] >= limit:
            problem = f"{numbers[-1]} is not below {at}.limit ({limit})"
            fix = f"name sentences from 0 to {limit - 1}, or raise the limit"
            report(Mistake(f"{at}.shown.{code}", problem, fix))
    for weight in translation.best_of:
        if weight not in translation.weights:
            problem = f"{weight} is not in {at}.weights"
            report(Mistake(f"{at}.best_of", problem, "add it there or name others"))


def inference_family(paper: Section, encoder: str) -> str:
    """Return the family of fine-tuning runs of an encoder that Figures 2, 4 and 6 compare."""
    return paper.inference.runs.replace("{encoder}", encoder)


def needs_of(config: Any) -> dict[str, list[Need]]:
    """Return the needs by artifact."""
    paper: Section = config.liu2020
    encoder, at = paper.embeddings.reference, "liu2020"
    predicted = [Need(encoder, "head"), Need(encoder, "layers", f"{at}.layers", paper.layers)]
    for key in ("rate_layer", "score_layer"):
        layer = getattr(paper.translation, key)
        predicted.append(Need(encoder, "layer", f"{at}.translation.{key}", layer))
    shifted = [Need(encoder, "layer", f"{at}.transfer.layer", paper.transfer.layer)]
    for _, family in paper.transfer.runs.values():
        last = deepest_layer(config, [family])
        shifted.append(Need(encoder, "layer", f"runs.{family}.published.trained_layers", last))
    return dict.fromkeys(TRANSLATED, predicted) | {"table4": shifted}

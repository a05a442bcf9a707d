"""The kinds of corpora that come with the repository; a new one is a module next to this one."""

import re
from collections.abc import Iterable
from datetime import datetime
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from mbert_atlas.config.base import OnlyWith
from mbert_atlas.config.corpora.base import (
    CORPUS,
    FORMAT,
    LIMIT,
    SAMPLE_SEED,
    Corpus,
    Derivable,
    DerivableWithSplit,
    UpstreamPath,
    WithSplit,
)
from mbert_atlas.config.references import EncoderName

PlainTextFormat = Literal["lines", "vline"]
BitextFormat = Literal["wikimatrix", "moses", "manythings", "lines"]
GoldFormat = Literal["xlwa", "pharaoh", "naacl"]
NliFormat = Literal["multinli", "xnli", "xtreme", "taxinli"]
NerFormat = Literal["rahimi", "panx", "conll2003"]
QaFormat = Literal["squad", "mlqa", "mlqa-translate-train", "tydiqa", "tydiqa-xtreme"]
"""Described where :mod:`mbert_atlas.corpora` reads them."""

_TREEBANK = re.compile(r"UD_([^/]+)-([^/-]+)/[a-z]+_([a-z]+)-ud-(train|dev|test)[^/]*\.conllu$")


def _day(number: int) -> int:
    try:
        datetime.strptime(str(number), "%Y%m%d")
    except ValueError:
        raise ValueError(f"{number} is no day; write one such as 20210420") from None
    return number


class Wikipedia(Corpus):
    """Paragraphs of dumps."""

    reader = "corpora.wikipedia:read"
    by_language = reads_large = is_running_text = True

    corpus: Literal["wikipedia"] = CORPUS
    dump: Annotated[int, AfterValidator(_day)] | None = None
    """{dump} in `files`, such as 20210420: the dump of this date or, by language, the nearest."""
    exact: bool = False
    """Whether a missing dump of that date is an error; false: the nearest one is taken."""
    only_with: ClassVar[OnlyWith] = {"exact": ("dump", ...)}
    minimum_characters: int = Field(100, ge=1)
    """Shortest paragraph that is kept (Tanti et al. 2021, appendix A)."""


class PlainText(Corpus):
    """Running text, for pretraining."""

    reader = "corpora.plain_text:read"
    by_language = is_running_text = True

    corpus: Literal["plain_text"] = CORPUS
    format: PlainTextFormat | None = FORMAT
    limit: int | None = LIMIT


class Bitext(Derivable):
    """Sentence pairs of English and one other language; derived: words are split into subwords."""

    reader = "corpora.bitext:read"
    deriver = "alignment.pairs:derive_subwords"
    by_language = reads_large = True

    corpus: Literal["bitext"] = CORPUS
    format: BitextFormat | None = FORMAT
    limit: int | None = LIMIT
    seed: int = Field(0, ge=0, description="Seed of the sample of `limit` pairs.")
    encoder: EncoderName | None = None
    """Derived: the encoder whose tokenizer splits words into subwords."""
    only_with: ClassVar[OnlyWith] = {
        **Derivable.only_with,
        "seed": ("limit", ...),
        "encoder": ("made_from", ...),
    }

    @model_validator(mode="after")
    def _has_tokenizer(self) -> Self:
        if self.made_from and not self.encoder:
            raise ValueError("a derived bitext needs `encoder`, whose tokenizer splits its words")
        return self

    @model_validator(mode="after")
    def _has_both_sides(self) -> Self:
        fix = "name it as the only one of `partners`"
        if self.files and self.format == "lines" and len(self.partners) != 1:
            raise ValueError(f"`lines` takes a file of each language, and `files` names one; {fix}")
        for language, sources in (self.files_by_language or {}).items():
            for source in sources:
                if (source.format or self.format) == "lines" and len(source.partners) != 1:
                    problem = f"{source.path} has no file of the other language ({language})"
                    raise ValueError(f"{problem}; {fix}")
        return self


class GoldAlignment(Corpus):
    """Sentence pairs with word links made by hand."""

    corpus: Literal["gold_alignment"] = CORPUS
    format: GoldFormat | None = FORMAT
    first_word: Literal[0, 1] | None = None
    """Number of a sentence's first word in links; none: recognised from the file."""


class UniversalDependencies(WithSplit):
    """Sentences of treebanks."""

    reader = "corpora.universal_dependencies:read"
    reads_large = True

    corpus: Literal["universal_dependencies"] = CORPUS
    limit: int | None = LIMIT

    def misnamed(self, path: str, language: Any, languages: Iterable[Any]) -> str:
        """Return what in a name as UD_English-EWT/en_ewt-ud-test.conllu contradicts the dataset."""
        if not (match := _TREEBANK.search(path)):
            return ""
        name, treebank, short, split = match.groups()
        if treebank.lower() != short:
            return f"the folder is of the treebank {treebank}, and the file of {short}"
        if split != self.split:
            return f"the file has the split {split}, and the dataset {self.split}"
        others = {other.ud_name for other in languages} - {language.ud_name}
        return f"it is in {name}, not {language.name}" if name in others else ""


class NliPairs(DerivableWithSplit):
    """Premises and hypotheses; derived: one side of each pair is replaced by the English one."""

    reader = "corpora.nli:read"
    deriver = "corpora.nli:derive"
    one_file = True

    corpus: Literal["nli"] = CORPUS
    format: NliFormat | None = FORMAT
    limit: int | None = LIMIT
    seed: int = Field(0, ge=0, description="Derived: seed of which side is in English.")
    only_with: ClassVar[OnlyWith] = {**Derivable.only_with, "seed": ("made_from", ...)}


class NamedEntities(WithSplit):
    """Tagged sentences in the formats of WikiANN and CoNLL-2003."""

    reader = "corpora.ner:read"
    one_file = True

    corpus: Literal["ner"] = CORPUS
    format: NerFormat | None = FORMAT
    limit: int | None = LIMIT
    sample_seed: int | None = SAMPLE_SEED
    only_with: ClassVar[OnlyWith] = {"sample_seed": ("limit", ...)}


class QuestionAnswering(DerivableWithSplit):
    """Questions about paragraphs; derived: paragraphs and questions in different languages."""

    reader = "corpora.qa:read"
    deriver = "corpora.qa:derive"
    one_file = True

    corpus: Literal["qa"] = CORPUS
    format: QaFormat | None = FORMAT
    limit: int | None = LIMIT
    sample_seed: int | None = SAMPLE_SEED
    only_with: ClassVar[OnlyWith] = {**Derivable.only_with, "sample_seed": ("limit", ...)}
    questions: Literal["same", "target", "english"] = "same"
    """Questions in the language of the paragraphs; or in the target language about English
    paragraphs; or in English about the target's."""

    @model_validator(mode="after")
    def _crosses_languages(self) -> Self:
        if self.made_from and self.questions == "same":
            raise ValueError("`made_from` needs `questions: target` or `questions: english`")
        return self


class LanguageIdentification(Corpus):
    """Paragraphs with their language, sampled from running text."""

    deriver = "corpora.language_identification:derive"
    derives_large = True
    parent_key = "paragraphs"

    corpus: Literal["language_identification"] = CORPUS
    paragraphs: str
    """The dataset to sample paragraphs from, without files."""
    encoder: EncoderName | None = None
    """Paragraphs with [UNK] in its vocabulary are dropped; none: kept."""
    limit: int | None = LIMIT
    fractions: tuple[float, float, float, float] = (0.7, 0.1, 0.1, 0.1)
    """Fractions of train, validation, dev and test."""
    minimum_per_language: int = Field(10, ge=1)
    """Fewer paragraphs in a language are an error."""
    seed: int = Field(0, ge=0, description="Seed of the sample.")

    def derives_from(self, other: Corpus) -> bool:
        """Whether paragraphs can be sampled from a dataset."""
        return other.is_running_text

    @model_validator(mode="after")
    def _sample_fits(self) -> Self:
        if self.limit and self.limit < self.minimum_per_language:
            least = self.minimum_per_language
            raise ValueError(f"`limit` ({self.limit}) is below `minimum_per_language` ({least})")
        if sum(Fraction(str(share)) for share in self.fractions) != 1 or min(self.fractions) < 0:
            raise ValueError(f"`fractions` must sum to 1, not {list(self.fractions)}")
        return self


class Typology(Corpus):
    """Features of the World Atlas of Language Structures; one table for all languages."""

    reader = "corpora.typology:read"
    column = "wals_code"

    corpus: Literal["typology"] = CORPUS
    files: UpstreamPath = Field(description="Table of values, in CLDF.")
    partners: list[UpstreamPath] = Field(min_length=2, max_length=2)
    """Its tables of languages and of codes."""


class Dictionary(Corpus):
    """English words and their translations."""

    reader = "corpora.dictionaries:read"
    by_language = one_file = True

    corpus: Literal["dictionary"] = CORPUS
    limit: int | None = LIMIT

    @model_validator(mode="after")
    def _has_two_languages(self) -> Self:
        if "en" in self.languages:
            raise ValueError("a dictionary translates from English: drop `en` from `languages`")
        return self

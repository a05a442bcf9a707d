"""Datasets: one model per kind of corpus, told apart by the key ``corpus``."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field, model_validator

from mbert_atlas.config.base import ConfigModel, OnlyWith

_CORPUS: Any = Field(description="Kind of corpus; it decides the reader and the columns.")
_FORMAT: Any = Field(None, description="Upstream format, where a corpus has several.")
_LIMIT: Any = Field(None, ge=1, description="Keep at most this many items per language.")
_SAMPLE_SEED: Any = Field(
    None, description="Seed of a random sample of `limit` items; none takes the first."
)
Split = Literal["train", "validation", "dev", "test"]
BitextFormat = Literal["wikimatrix", "moses", "manythings", "lines"]
GoldAlignmentFormat = Literal["xlwa", "naacl", "awesome"]
NamedEntitiesFormat = Literal["rahimi", "panx", "conll2003"]
NliFormat = Literal["multinli", "xnli", "xtreme", "taxinli"]
PlainTextFormat = Literal["paragraphs", "lines", "conllu", "vline", "manythings", "moses"]
QuestionAnsweringFormat = Literal[
    "squad", "mlqa", "mlqa-translate-train", "tydiqa", "tydiqa-xtreme"
]
"""What the readers of :mod:`mbert_atlas.corpora` read, and describe."""


class Source(ConfigModel):
    """One upstream file and how to read it."""

    path: str = Field(
        description="Path in the mirror layout; may hold {language}, {wiki}, {pair}, {iso639_3}, "
        "{ntrex}, {tatoeba}, {ud_name}, {ud_code}."
    )
    format: str | None = Field(None, description="Reader; none takes the dataset's format.")
    partners: list[str] = Field(
        [],
        min_length=0,
        description="Files that belong to it: other side of a line-parallel pair, labels, links.",
    )
    limit: int | None = Field(None, ge=1, description="bitext: keep at most this many pairs.")


class _Dataset(ConfigModel):
    """An upstream corpus made into tidy Parquet, or a set made from another dataset."""

    one_file: ClassVar[bool] = False
    corpus: str = _CORPUS
    languages: list[str] = Field(description="Language codes, rows of resources/languages.csv.")
    files: str | None = Field(
        None, description="Upstream path for every language, with placeholders."
    )
    files_by_language: dict[str, list[Source]] | None = Field(
        None, description="Upstream files of single languages; they win over `files`."
    )

    @property
    def parent(self) -> str | None:
        """The dataset that this one is made from; none: it is made from upstream files."""
        return None

    @model_validator(mode="after")
    def _has_input(self) -> _Dataset:
        given = self.files is not None or self.files_by_language is not None
        if given == (self.parent is not None):
            ways = [key for key in ("made_from", "paragraphs") if key in type(self).model_fields]
            wanted = " or ".join(f"`{key}`" for key in ("files", "files_by_language", *ways))
            raise ValueError(f"give {wanted}" + (", not both" if given else ""))
        for language, sources in (self.files_by_language or {}).items():
            if self.one_file and len(sources) > 1:
                raise ValueError(f"{self.corpus} takes one file, not {len(sources)} ({language})")
            if self.corpus != "bitext" and any(source.limit for source in sources):
                raise ValueError(f"only a bitext has a `limit` per file ({language})")
            field = type(self).model_fields.get("format")
            known = (
                [name for part in get_args(field.annotation) for name in get_args(part)]
                if field
                else []
            )
            for source in sources:
                if source.format and source.format not in known:
                    few = f"use {', '.join(known)}" if known else "leave it out"
                    raise ValueError(
                        f"no format of {self.corpus} is {source.format!r} ({language}): {few}"
                    )
        return self


class _WithSplit(_Dataset):
    split: Split = Field(description="Which upstream split to read.")


class _Derivable(_Dataset):
    only_with: ClassVar[OnlyWith] = {"format": ("made_from", None), "limit": ("made_from", None)}
    made_from: str | None = Field(
        None, description="Dataset of the same kind that this one is made from, without files."
    )

    @property
    def parent(self) -> str | None:
        """The dataset of the same kind that this one is made from; none: upstream files."""
        return self.made_from


class _DerivableWithSplit(_Derivable):
    split: Split | None = Field(
        None, description="Which upstream split to read; none if made from another."
    )

    @model_validator(mode="after")
    def _has_split(self) -> _DerivableWithSplit:
        if self.split is None and not self.made_from:
            raise ValueError(f"{self.corpus} needs `split`")
        return self


class Wikipedia(_Dataset):
    """Paragraphs of dumps."""

    one_file = True
    corpus: Literal["wikipedia"] = _CORPUS
    minimum_characters: int = Field(
        100, ge=1, description="Shortest paragraph that is kept (Tanti et al. 2021, appendix A)."
    )


class PlainText(_Dataset):
    """Running text, for pretraining."""

    corpus: Literal["plain_text"] = _CORPUS
    format: PlainTextFormat | None = _FORMAT
    limit: int | None = _LIMIT


class Bitext(_Derivable):
    """Sentence pairs, English and one other language; made from another: words become pieces."""

    corpus: Literal["bitext"] = _CORPUS
    format: BitextFormat | None = _FORMAT
    limit: int | None = _LIMIT
    seed: int = Field(0, description="Seed of the sample of `limit` pairs.")
    encoder: str | None = Field(
        None, description="Made from another: the encoder whose pieces its words become."
    )
    only_with: ClassVar[OnlyWith] = {
        **_Derivable.only_with,
        "seed": ("limit", ...),
        "encoder": ("made_from", ...),
    }

    @model_validator(mode="after")
    def _has_pieces(self) -> Bitext:
        if self.made_from and not self.encoder:
            raise ValueError("a bitext made from another needs `encoder`, whose pieces it takes")
        return self


class GoldAlignment(_Dataset):
    """Sentence pairs with word links made by hand."""

    corpus: Literal["gold_alignment"] = _CORPUS
    format: GoldAlignmentFormat | None = _FORMAT


class UniversalDependencies(_WithSplit):
    """Sentences of treebanks."""

    corpus: Literal["universal_dependencies"] = _CORPUS
    limit: int | None = _LIMIT


class NliPairs(_DerivableWithSplit):
    """Premises and hypotheses; made from another: one side of each pair becomes English."""

    one_file = True
    corpus: Literal["nli"] = _CORPUS
    format: NliFormat | None = _FORMAT
    limit: int | None = _LIMIT
    seed: int = Field(0, ge=0, description="Made from another: seed of which side stays English.")
    only_with: ClassVar[OnlyWith] = {**_Derivable.only_with, "seed": ("made_from", ...)}


class NamedEntities(_WithSplit):
    """Tagged sentences in the formats of WikiANN and CoNLL-2003."""

    one_file = True
    corpus: Literal["ner"] = _CORPUS
    format: NamedEntitiesFormat | None = _FORMAT
    limit: int | None = _LIMIT
    sample_seed: int | None = _SAMPLE_SEED
    only_with: ClassVar[OnlyWith] = {"sample_seed": ("limit", ...)}


class QuestionAnswering(_DerivableWithSplit):
    """Questions about paragraphs; made from another: the two sides in different languages."""

    one_file = True
    corpus: Literal["qa"] = _CORPUS
    format: QuestionAnsweringFormat | None = _FORMAT
    limit: int | None = _LIMIT
    sample_seed: int | None = _SAMPLE_SEED
    only_with: ClassVar[OnlyWith] = {**_Derivable.only_with, "sample_seed": ("limit", ...)}
    questions: Literal["same", "target", "english"] = Field(
        "same",
        description="Questions in the language of the paragraphs; or in the target language about "
        "English paragraphs; or in English about the target's.",
    )

    @model_validator(mode="after")
    def _crosses_languages(self) -> QuestionAnswering:
        if self.made_from and self.questions == "same":
            raise ValueError("`made_from` needs `questions: target` or `questions: english`")
        return self


class LanguageIdentification(_Dataset):
    """Paragraphs with their language: sampled from running text, or a released set."""

    corpus: Literal["language_identification"] = _CORPUS
    paragraphs: str | None = Field(
        None, description="The dataset to sample paragraphs from, without files."
    )
    encoder: str | None = Field(
        None, description="Sampled: paragraphs with [UNK] under its vocabulary go out; none: stay."
    )
    limit: int | None = Field(None, ge=1, description="Sampled: at most this many per language.")
    fractions: tuple[float, float, float, float] = Field(
        (0.7, 0.1, 0.1, 0.1), description="Sampled: shares of train, validation, dev and test."
    )
    minimum_per_language: int = Field(
        10, ge=1, description="Sampled: fewer paragraphs in a language are an error."
    )
    seed: int = Field(0, description="Sampled: seed of the sample.")

    only_with: ClassVar[OnlyWith] = dict.fromkeys(
        ("encoder", "fractions", "minimum_per_language", "seed"), ("paragraphs", ...)
    )

    @property
    def parent(self) -> str | None:
        """The dataset that the paragraphs are sampled from; none: it is a released set."""
        return self.paragraphs

    @model_validator(mode="after")
    def _sample_fits(self) -> LanguageIdentification:
        if self.limit and not self.paragraphs:
            raise ValueError("released files are read whole: drop `limit`")
        if sum(Fraction(str(share)) for share in self.fractions) != 1 or min(self.fractions) < 0:
            raise ValueError(f"`fractions` are shares that sum to 1, not {list(self.fractions)}")
        return self


class Typology(_Dataset):
    """Features of the World Atlas of Language Structures; one table for all languages."""

    corpus: Literal["typology"] = _CORPUS
    files: str = Field(description="Table of values, in CLDF.")
    partners: tuple[str, str] = Field(description="Its tables of languages and of codes.")


class Dictionary(_Dataset):
    """English words and their translations."""

    one_file = True
    corpus: Literal["dictionary"] = _CORPUS
    limit: int | None = _LIMIT

    @model_validator(mode="after")
    def _has_two_languages(self) -> Dictionary:
        if "en" in self.languages:
            raise ValueError("a dictionary translates from English: drop `en` from `languages`")
        return self


Dataset = Annotated[
    Wikipedia
    | PlainText
    | Bitext
    | GoldAlignment
    | UniversalDependencies
    | NliPairs
    | NamedEntities
    | QuestionAnswering
    | LanguageIdentification
    | Typology
    | Dictionary,
    Field(discriminator="corpus"),
]

"""What the models of all kinds of corpora share."""

from collections.abc import Iterable
from string import Formatter
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import AfterValidator, Field, model_validator

from mbert_atlas.config.base import ConfigModel, OnlyWith
from mbert_atlas.config.marks import TargetLanguages

CORPUS: Any = Field(description="Kind of corpus; it decides the reader and the columns.")
FORMAT: Any = Field(None, description="Upstream format, where a corpus has several.")
LIMIT: Any = Field(None, ge=1, description="Keep at most this many items per language.")
SAMPLE_SEED: Any = Field(
    None, ge=0, description="Seed of a random sample of `limit` items; none takes the first."
)
Split = Literal["train", "validation", "dev", "test"]
_PLACEHOLDERS = "dump, iso639_3, language, ntrex, pair, subdomain, tatoeba, ud_code, ud_name, wiki"


def _upstream_path(path: str) -> str:
    try:
        parts = list(Formatter().parse(path))
    except ValueError as error:
        problem = f"the braces of {path!r} are not in pairs"
        raise ValueError(f"{problem}; close or delete them") from error
    for _, name, form, conversion in parts:
        if name is not None and (name not in _PLACEHOLDERS.split(", ") or form or conversion):
            problem = f"{path!r} has a placeholder that is not known"
            raise ValueError(f"{problem}; use one of {_PLACEHOLDERS}")
    literal = "".join(text + ("x" if name else "") for text, name, *_ in parts)
    # Some characters mean something to Windows or to Snakemake.
    odd = set("\\{}<>") & set(literal)
    is_plain = literal.isprintable() and literal == literal.strip() and not odd
    folders = literal.split("/")
    if not is_plain or folders[0] in ("~", "hf") or set(folders) & {"", ".", ".."}:
        problem = f"{path!r} is not a relative path inside a mirror folder"
        raise ValueError(f"{problem}; write one such as xnli/XNLI-1.0.zip")
    return path


UpstreamPath = Annotated[str, AfterValidator(_upstream_path)]


class Source(ConfigModel):
    """One upstream file and how to read it."""

    path: UpstreamPath
    """Path in the mirror layout; may hold {language}, {wiki}, {subdomain}, {pair}, {iso639_3},
    {ntrex}, {tatoeba}, {ud_name}, {ud_code}, {dump}."""
    format: str | None = Field(None, description="Reader; none takes the dataset's format.")
    partners: list[UpstreamPath] = Field([], min_length=0)
    """Files that belong to it: other side of a line-parallel pair, labels, links."""


class Corpus(ConfigModel):
    """An upstream corpus as tidy Parquet, or a dataset derived from another one.

    Functions, ``module:function`` below ``mbert_atlas``, take a :mod:`mbert_atlas.corpora.jobs`.
    """

    reader: ClassVar[str] = ""  # reads upstream files; empty: other jobs read them, and no table
    deriver: ClassVar[str] = ""  # makes the table from that of another dataset, its `parent`
    by_language: ClassVar[bool] = False  # each language has a separate table and job
    reads_large: ClassVar[bool] = False  # reading jobs are submitted; else they are local
    derives_large: ClassVar[bool] = False  # deriving jobs are
    columns_of: ClassVar[str] = ""  # another kind of corpus: tasks can use this one in its place
    is_running_text: ClassVar[bool] = False  # the table has the columns of `schemas.PARAGRAPHS`
    one_file: ClassVar[bool] = False  # a language has a single upstream file (and its partners)
    parent_key: ClassVar[str] = ""  # key that names the parent
    column: ClassVar[str] = ""  # of the table of languages, empty where the files lack a language

    corpus: str = CORPUS
    languages: TargetLanguages = Field(
        description="Language codes, rows of resources/languages.csv."
    )
    files: UpstreamPath | None = None
    """Upstream path for every language, with placeholders."""
    partners: list[UpstreamPath] = Field([], min_length=0, exclude=True)
    """Files that belong to `files`, as in `files_by_language`."""
    files_by_language: dict[str, list[Source]] | None = None
    """Upstream files of single languages; they win over `files`."""

    @property
    def parent(self) -> str | None:
        """The dataset that this one is derived from; none: it is read from upstream files."""
        return getattr(self, self.parent_key) if self.parent_key else None

    @property
    def function(self) -> str:
        """The function that makes the table, as ``module:function``."""
        return self.deriver if self.parent else self.reader

    @property
    def is_large(self) -> bool:
        """Whether the jobs that make the table are submitted."""
        return self.derives_large if self.parent else self.reads_large

    @property
    def resources(self) -> str:
        """Key of the config's ``resources`` that has what submitted jobs request."""
        return f"read_{self.corpus}"

    @property
    def tokenizer_of(self) -> str | None:
        """The encoder whose tokenizer is needed to derive it."""
        return getattr(self, "encoder", None)

    @property
    def content(self) -> str:
        """The kind of corpus that the table has the columns of."""
        return self.columns_of or self.corpus

    def derives_from(self, other: "Corpus") -> bool:
        """Whether a dataset can be its parent."""
        return other.content == self.content

    def misnamed(self, path: str, language: Any, languages: Iterable[Any]) -> str:
        """Return what in the name of a language's file contradicts the dataset; empty: nothing."""
        return ""

    @model_validator(mode="after")
    def _has_input(self) -> Self:
        has_files = self.files is not None or self.files_by_language is not None
        if has_files == (self.parent is not None):
            keys = ["files", "files_by_language", *filter(None, [self.parent_key])]
            ways = " or ".join(f"`{key}`" for key in keys)
            raise ValueError(f"give {ways}" + (", not both" if has_files else ""))
        if self.partners and self.files is None:
            raise ValueError("`partners` belong to `files`; give it, or leave them out")
        paths = [source.path for some in (self.files_by_language or {}).values() for source in some]
        if getattr(self, "dump", None) is None and any(
            "{dump}" in p for p in [*paths, self.files or ""]
        ):
            raise ValueError("a path has {dump}, so it needs `dump`, a date such as 20210420")
        field = type(self).model_fields.get("format")
        options = get_args(field.annotation) if field else ()
        formats = [name for option in options for name in get_args(option)]
        if formats and not self.parent and getattr(self, "format", None) is None:
            whole = not self.files and all(
                source.format for some in (self.files_by_language or {}).values() for source in some
            )
            if not whole:
                raise ValueError(f"{self.corpus} needs `format`; use {', '.join(formats)}")
        for language, sources in (self.files_by_language or {}).items():
            if self.one_file and len(sources) > 1:
                raise ValueError(f"{self.corpus} takes one file, not {len(sources)} ({language})")
            for name in [source.format for source in sources if source.format]:
                if name not in formats:
                    hint = f"use {', '.join(formats)}" if formats else "leave it out"
                    raise ValueError(f"no format of {self.corpus} is {name!r} ({language}): {hint}")
        return self


class WithSplit(Corpus):
    """A corpus with splits."""

    split: Split = Field(description="Which upstream split to read.")


class Derivable(Corpus):
    """A corpus that may be derived from a dataset of the same kind."""

    parent_key = "made_from"
    only_with: ClassVar[OnlyWith] = {"format": ("made_from", None), "limit": ("made_from", None)}
    made_from: str | None = None
    """Dataset of the same kind that this one is derived from, without files."""


class DerivableWithSplit(Derivable):
    """A corpus with splits, or derived from a dataset that has some."""

    split: Split | None = None
    """Which upstream split to read; none if derived from another dataset."""

    @model_validator(mode="after")
    def _has_split(self) -> Self:
        if self.split is None and not self.made_from:
            raise ValueError(f"{self.corpus} needs `split`")
        return self

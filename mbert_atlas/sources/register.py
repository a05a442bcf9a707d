"""The register of upstream files: which address, checksum and licence belong to which path.

A *path* here is always relative and the same everywhere: in a mirror folder, under the downloads
folder and in a run's config, for example ``xnli/XNLI-1.0.zip``.
"""

import datetime as dt
import difflib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import Formatter
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mbert_atlas.config.reading import read_yaml, validate
from mbert_atlas.errors import DataError
from mbert_atlas.files import SUMS, read_sums

SNAPSHOT_FOLDER = "hf"
"""First part of the path of every hub snapshot."""
SNAPSHOT_PATTERNS = ("*.json", "*.txt", "*.model", "model.safetensors", "model-*.safetensors")
"""Top-level files of a hub model that an encoder needs; weights as safetensors only."""

_MODELS = "mbert_atlas/sources/register.py"
_Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Entry(BaseModel):
    """What file sources and hub models have in common."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")
    title: str = Field(min_length=1)  # what it is, in a few words
    licence: str = Field(min_length=1)  # of the data, as far as it is stated
    citation: str = Field(min_length=1)
    notes: str = ""  # pitfalls, and what nobody has confirmed yet (UNVERIFIED)


class OtherAddress(BaseModel):
    """Where the same data lie as well, perhaps packed in another way."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(pattern=r"^https?://")
    # By rest of path, where the bytes are others than at the first address; empty: the same.
    sha256: dict[str, _Sha256] = {}
    bytes: dict[str, int] = {}


class FileEntry(_Entry):
    """One or more upstream files that share an address pattern."""

    kind: Literal["file"]
    # First parts of the paths that belong to it; the whole rest of a path matches the pattern.
    folder: str = Field(pattern=r"^\w[\w.-]*(/\w[\w.-]*)*$")
    pattern: str
    # With {path} for the rest and {name} for a group of the pattern, {date:%Y-%m-%d} for a group
    # `date` (eight digits); none: manual download.
    url: str | None = Field(None, pattern=r"^https?://")
    others: list[OtherAddress] = []  # tried in this order where the first one fails
    # Days of the month on which dumps begin: in place of the date of a path, the nearest is taken.
    days: list[int] = []
    # Where the server lists the dates that there are, in any text; without it, near days are tried.
    dates: str | None = Field(None, pattern=r"^https?://")
    # Where archive.org describes the item that holds the file, with its size and MD5.
    metadata: str | None = Field(None, pattern=r"^https?://")
    # Address of each {part} of a folder that `url` lists: in the format of `sha256sum`, or as the
    # Hugging Face hub lists a folder (JSON). The pattern then ends with SHA256SUMS.
    parts: str | None = Field(None, pattern=r"^https?://")
    examples: list[str] = Field(min_length=1)  # rests of paths
    # Of files with several languages: those of the table of languages that they have.
    languages: list[str] = []
    sha256: dict[str, _Sha256] = {}  # published checksums by rest of path
    bytes: dict[str, int] = {}  # sizes, likewise
    access: Literal["open", "registration", "manual"] = "open"
    steps: str = ""  # how to get it manually; needed unless access is open

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        try:
            compiled = re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"pattern is not a regular expression ({error})") from error
        for name in (*self.examples, *self.sha256, *self.bytes):
            if compiled.fullmatch(name) is None:
                raise ValueError(f"{name!r} does not match the pattern")
        if self.access == "open" and self.url is None:
            raise ValueError("access is open, so it needs a url")
        if self.access != "open" and (self.url is not None or not self.steps):
            raise ValueError(f"access is {self.access}, so it needs steps and no url")
        if self.parts and not self.pattern.endswith(f"/{SUMS}"):
            raise ValueError(f"it has parts, so its pattern must end with /{SUMS}")
        groups = {"path", *compiled.groupindex}
        urls = [self.url, self.dates, self.metadata, *(other.url for other in self.others)]
        for url, names in [*((url, groups) for url in urls), (self.parts, groups | {"part"})]:
            fields = {name for _, name, *_ in Formatter().parse(url or "") if name is not None}
            if unknown := fields - names:
                raise ValueError(f"url uses {sorted(unknown)}, which the pattern does not name")
        return self


class HubEntry(_Entry):
    """A model on the Hugging Face hub at one revision."""

    kind: Literal["hub"]
    repository: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")  # organisation/name
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")  # a full hash, since branch names move

    @property
    def path(self) -> str:
        """Its path in a mirror folder."""
        return snapshot_path(self.repository, self.revision)


class _RegisterFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    # A file next to this one with more checksums, as `sha256sum` writes them.
    checksums: str | None = None
    sources: list[Annotated[FileEntry | HubEntry, Field(discriminator="kind")]]


@dataclass(frozen=True)
class Address:
    """Where a file is, and what is known of it there."""

    url: str
    sha256: str | None = None
    bytes: int | None = None
    md5: str | None = None


@dataclass(frozen=True)
class SourceFile:
    """Where one path comes from."""

    entry: FileEntry
    rest: str  # of the path, behind the folder
    listed_sha256: str | None  # in the list of checksums
    values: Mapping[str, Any]  # what addresses are filled with

    @property
    def addresses(self) -> tuple[Address, ...]:
        """All of them in their order; none: it must be downloaded manually."""
        entry, rest = self.entry, self.rest
        template = entry.parts if "part" in self.values else entry.url
        if template is None:
            return ()
        sha256 = self.sha256
        first = Address(template.format_map(self.values), sha256, entry.bytes.get(rest))
        return first, *(
            Address(
                other.url.format_map(self.values),
                other.sha256.get(rest, sha256),
                other.bytes.get(rest, None if rest in other.sha256 else first.bytes),
            )
            for other in entry.others
        )

    @property
    def url(self) -> str | None:
        """The first address; none: it must be downloaded manually."""
        return self.addresses[0].url if self.addresses else None

    @property
    def sha256(self) -> str | None:
        """The registered checksum at the first address; none: none was published."""
        return self.entry.sha256.get(self.rest, self.listed_sha256)

    @property
    def sums(self) -> set[str]:
        """The registered checksums at all addresses; none: nobody has published one."""
        sums = {self.sha256, *(item.sha256 for item in self.addresses)}
        return {item for item in sums if item}

    @property
    def is_folder(self) -> bool:
        """Whether the path stands for the files of a folder."""
        return self.entry.parts is not None and "part" not in self.values

    @property
    def date(self) -> dt.date | None:
        """The date of a dump that may be replaced by another one; none: this is no such file."""
        day: dt.date | None = self.values.get("date") if self.entry.days else None
        return day

    def at(self, day: dt.date) -> Self:
        """Return the same file of another date."""
        return replace(self, values={**self.values, "date": day})

    def found_at(self, url: str) -> Self | None:
        """Return the same file of the date that an address has; none: it is no such address."""
        dated = map(self.at, dates_in(url))
        return next((item for item in dated if item.url == url), None)

    def near_dates(self) -> Iterator[dt.date]:
        """Yield other dates within 100 days on which a dump may have begun, nearest first."""
        assert self.date is not None
        for distance in range(1, 101):
            for day in (self.date - dt.timedelta(distance), self.date + dt.timedelta(distance)):
                if day.day in self.entry.days:
                    yield day


def dates_in(text: str) -> list[dt.date]:
    """Return the days in a text, as 20210420 or 2021-04-20, each once."""
    days = dict[dt.date, None]()
    for parts in re.findall(r"(?<!\d)(\d{4})-?(\d\d)-?(\d\d)(?!\d)", text):
        with suppress(ValueError):  # there is no such day
            days[dt.date(*map(int, parts))] = None
    return list(days)


def checked_path(path: str) -> str:
    """Return ``path`` if it is relative, plain and stays inside its folder; else a DataError."""
    if "\\" in path or {"", ".", ".."} & {*path.split("/")}:
        problem = "not a relative path inside a mirror folder"
        raise DataError(path or "(empty path)", "", problem, "correct it")
    return path


def snapshot_path(repository: str, revision: str) -> str:
    """Return a hub snapshot's path in a mirror folder, ``hf/<organisation>--<name>@<hash>``."""
    return f"{SNAPSHOT_FOLDER}/{repository.replace('/', '--')}@{revision}"


@dataclass(frozen=True)
class Register:
    """All entries of a register file, found by path or by id."""

    path: Path
    entries: Sequence[FileEntry | HubEntry]
    checksums: dict[str, str] = field(repr=False)

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Read and check a register (``resources/sources.yaml``) and its checksum file.

        Raises DataError if it is missing, not YAML, breaks the schema, or repeats an id; names line
        and key.
        """
        path = Path(path)
        content = validate(_RegisterFile, read_yaml(path), [path], described=_MODELS)
        for name, count in Counter(entry.id for entry in content.sources).items():
            if count > 1:
                raise DataError(path, f"id {name}", "it is repeated", "rename one of them")
        sums = read_sums(path.parent / content.checksums) if content.checksums else {}
        return cls(path, content.sources, sums)

    def locate(self, path: str) -> SourceFile:
        """Return where ``path`` comes from; see :meth:`find`.

        Raises DataError if no entry fits; names the nearest paths of the register.
        """
        if source := self.find(path):
            return source
        examples = [f"{entry.folder}/{name}" for entry in self.files() for name in entry.examples]
        folders = sorted({entry.folder for entry in self.files()})
        near = difflib.get_close_matches(path, examples, n=3, cutoff=0.5)
        near = near or difflib.get_close_matches(path.split("/")[0], folders, n=3)
        problem = "no source is registered for it, and no mirror holds it"
        hint = f" (near it: {', '.join(near)})" if near else ""
        fix = f"correct the path{hint}, put the file into a mirror and list it there, "
        fix += "or add an entry from which it can be fetched"
        raise DataError(self.path, f"path {path}", problem, fix)

    def find(self, path: str) -> SourceFile | None:
        """Return where ``path`` comes from, None if no entry fits.

        Of the entries whose folder starts the path and whose pattern matches the rest, the one
        with the longest folder is taken, and of several such the first.

        Raises DataError if it is no path of a file in a mirror folder.
        """
        checked_path(path)
        for entry in sorted(self.files(), key=lambda entry: -len(entry.folder)):
            rest = path.removeprefix(f"{entry.folder}/")
            if rest != path and (values := _values(entry, rest)):
                return SourceFile(entry, rest, self.checksums.get(path), values)
        return None

    def covers(self, path: str) -> bool:
        """Return whether ``path`` lies in the folder of an entry, which may not list it."""
        return any(path.startswith(f"{entry.folder}/") for entry in self.files())

    def files(self) -> list[FileEntry]:
        """Return the entries that are files, in the order of the register."""
        return [entry for entry in self.entries if isinstance(entry, FileEntry)]


def _values(entry: FileEntry, rest: str) -> dict[str, Any] | None:
    """Return what addresses are filled with; none: the rest of a path is not the entry's."""
    values: dict[str, Any] = {"path": rest}
    match = re.fullmatch(entry.pattern, rest)
    if match is None and entry.parts:
        above, _, values["part"] = rest.rpartition("/")
        match = re.fullmatch(entry.pattern, f"{above}/{SUMS}")
    if match is None:
        return None
    values |= match.groupdict()
    if "date" in values:
        values["date"] = next(iter(dates_in(values["date"])), None)
    return values if values.get("date", "") is not None else None  # there is no such day

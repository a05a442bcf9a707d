"""The register of upstream files: which address, checksum and licence belong to which path.

A *path* here is always relative and the same everywhere: in a mirror folder, under the downloads
folder and in a run's config, for example ``xnli/XNLI-1.0.zip``.
"""

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mbert_atlas.config.reading import read_yaml, validate
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_text

SNAPSHOT_FOLDER = "hf"
"""First part of the path of every hub snapshot."""
SNAPSHOT_PATTERNS = ("*.json", "*.txt", "*.model", "model.safetensors")
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


class FileEntry(_Entry):
    """One or more upstream files that share an address pattern."""

    kind: Literal["file"]
    # First parts of the paths that belong to it; the whole rest of a path matches the pattern.
    folder: str = Field(pattern=r"^\w[\w.-]*(/\w[\w.-]*)*$")
    pattern: str
    # With {path} for the rest and {name} for a group of the pattern; none: manual download.
    url: str | None = Field(None, pattern=r"^https?://")
    examples: list[str] = Field(min_length=1)  # rests of paths
    sha256: dict[str, _Sha256] = {}  # published checksums by rest of path
    access: Literal["open", "registration", "manual"] = "open"
    steps: str = ""  # how to get it manually; needed unless access is open

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        try:
            compiled = re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"pattern is not a regular expression ({error})") from error
        for name in (*self.examples, *self.sha256):
            if compiled.fullmatch(name) is None:
                raise ValueError(f"{name!r} does not match the pattern")
        if self.access == "open" and self.url is None:
            raise ValueError("access is open, so it needs a url")
        if self.access != "open" and (self.url is not None or not self.steps):
            raise ValueError(f"access is {self.access}, so it needs steps and no url")
        fields = {name for _, name, *_ in Formatter().parse(self.url or "") if name is not None}
        if unknown := fields - {"path", *compiled.groupindex}:
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
class SourceFile:
    """Where one path comes from."""

    entry: FileEntry
    url: str | None  # none: it must be downloaded manually
    sha256: str | None  # none: none was published


def checked_path(path: str) -> str:
    """Return ``path`` if it is relative, plain and stays inside its folder; else a DataError."""
    if "\\" in path or {"", ".", ".."} & {*path.split("/")}:
        problem = "not a relative path inside a mirror folder"
        raise DataError(path or "(empty path)", "", problem, "correct it")
    return path


def snapshot_path(repository: str, revision: str) -> str:
    """Return a hub snapshot's path in a mirror folder, ``hf/<organisation>--<name>@<hash>``."""
    return f"{SNAPSHOT_FOLDER}/{repository.replace('/', '--')}@{revision}"


def _read_checksums(path: Path) -> dict[str, str]:
    sums: dict[str, str] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        match = re.fullmatch(r"([0-9a-f]{64})  (\S.*)", line)
        if match is None or match[2] in sums:
            problem = "not `<sha256>  <path>`" if match is None else f"{match[2]} is repeated"
            raise DataError(path, f"line {number}", problem, "correct the line")
        sums[match[2]] = match[1]
    return sums


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
        sums = _read_checksums(path.parent / content.checksums) if content.checksums else {}
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
            if rest != path and (match := re.fullmatch(entry.pattern, rest)):
                url = entry.url and entry.url.format_map({**match.groupdict(), "path": rest})
                return SourceFile(entry, url, entry.sha256.get(rest, self.checksums.get(path)))
        return None

    def files(self) -> list[FileEntry]:
        """Return the entries that are files, in the order of the register."""
        return [entry for entry in self.entries if isinstance(entry, FileEntry)]

"""The table of languages: names, codes, genera, treebanks and which encoders know them."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from mbert_atlas.errors import DataError

Split = Literal["train", "dev", "test"]


class Treebank(BaseModel):
    """A treebank of Universal Dependencies 2.7.

    Large training sets are cut into several files, so a part is a split or begins with one
    (``train-l``); the archive of the release has them joined.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^\w+$", description="name without the language, e.g. PUD")
    parts: tuple[Annotated[str, Field(pattern=r"^(train|dev|test)(-\w+)*$")], ...] = Field(
        min_length=1, description="its files, named by what follows `-ud-`"
    )
    has_text: bool = Field(description="False where the release withholds the words")


def _treebanks(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    treebanks = []
    for item in filter(None, cell.split(";")):
        match = re.fullmatch(r"(\w+)(!?):([\w+-]+)", item)
        if match is None:
            raise ValueError(f"{item!r} is not written as Name:train+dev+test or Name!:test")
        parts = tuple(match[3].split("+"))
        treebanks.append(Treebank(name=match[1], parts=parts, has_text=not match[2]))
    return tuple(treebanks)


class Language(BaseModel):
    """One row of ``resources/languages.csv``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: str = Field(
        pattern=r"^[a-z]{2,3}(_[a-z]+)?$", description="code as the papers and Wikipedia use it"
    )
    name: str = Field(min_length=1, description="English name")
    iso639_3: str = Field(pattern=r"^[a-z]{3}$", description="ISO 639-3 code")
    script: str = Field(pattern=r"^[A-Z][a-z]{3}$", description="main script, ISO 15924")
    family: str = Field(min_length=1, description="family as in WALS")
    genus: str = Field(min_length=1, description="genus as in WALS")
    wals_code: str = Field(
        pattern=r"^([a-z]{2,3})?$", description="language id in WALS, or empty if it has none"
    )
    wiki: str = Field(
        pattern=r"^[a-z-]*$", description="subdomain of its Wikipedia, or empty if it has none"
    )
    word_order: Literal["SVO", "SOV", "VSO", "VOS", "OVS", "OSV", "none", ""] = Field(
        description="WALS feature 81A; none: no order dominates; empty: not in WALS"
    )
    ud_name: str = Field(
        pattern=r"^[A-Za-z_]*$", description="name in Universal Dependencies 2.7, or empty"
    )
    ud_code: str = Field(
        pattern=r"^[a-z]{0,3}$", description="code in its treebanks' file names, or empty"
    )
    ud27: Annotated[tuple[Treebank, ...], BeforeValidator(_treebanks)] = Field(
        description="its treebanks in Universal Dependencies 2.7"
    )
    ntrex: str = Field(
        pattern=r"^([a-z]{3}(-[A-Za-z]+)?)?$", description="suffix of its file in NTREX-128"
    )
    tatoeba: str = Field(
        pattern=r"^([a-z]{3})?$", description="code in LASER's Tatoeba test sets, or empty"
    )
    in_mbert: bool = Field(description="one of multilingual BERT's 104 languages")
    in_xlmr: bool = Field(description="one of XLM-R's 100 languages")

    def treebank_files(self, split: Split, *, with_text: bool = True) -> list[str]:
        """Return the paths of its UD 2.7 files of one split, as the source register knows them.

        Args:
            split: train, dev or test.
            with_text: leave out the treebanks whose words the release withholds.
        """
        return [
            f"universal-dependencies/UD_{self.ud_name}-{treebank.name}/"
            f"{self.ud_code}_{treebank.name.lower()}-ud-{part}.conllu"
            for treebank in self.ud27
            for part in treebank.parts
            if part.split("-")[0] == split and (treebank.has_text or not with_text)
        ]

    def wikipedia_dump(self, date: str) -> str:
        """Return the path of its Wikipedia dump of ``date`` (``YYYYMMDD`` or ``latest``).

        Raises:
            DataError: if it has no Wikipedia.
        """
        if not self.wiki:
            raise DataError("languages", self.code, "it has no Wikipedia", "leave it out")
        return f"wikipedia/{self.wiki.replace('-', '_')}wiki-{date}-pages-articles.xml.bz2"


class Languages:
    """Languages by code, in the order of the table."""

    def __init__(self, path: Path | str, languages: Iterable[Language]) -> None:
        self.path = Path(path)
        self._by_code = {language.code: language for language in languages}

    @classmethod
    def read(cls, path: Path | str) -> Languages:
        """Read the table (``resources/languages.csv``).

        Raises:
            DataError: if it is missing, a column is missing or unknown, a cell is wrong, or a code
                is there twice; names the line and the column.
        """
        path = Path(path)
        if not path.is_file():
            raise DataError(path, "", "no such file", "correct the path")
        languages: dict[str, Language] = {}
        with open(path, encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            found, wanted = set(reader.fieldnames or ()), set(Language.model_fields)
            if found != wanted:
                difference = ", ".join(
                    [f"{name} is missing" for name in sorted(wanted - found)]
                    + [f"{name} is unknown" for name in sorted(found - wanted)]
                )
                raise DataError(path, "line 1", f"wrong columns: {difference}", "correct them")
            for row in reader:
                place = f"line {reader.line_num}"
                if None in row or None in row.values():
                    problem = f"its cells are not {len(wanted)} in number"
                    raise DataError(path, place, problem, "correct the line")
                try:
                    language = Language.model_validate(row)
                except ValidationError as error:
                    first = error.errors()[0]
                    column = first["loc"][0] if first["loc"] else "?"
                    raise DataError(
                        path, f"{place}, column {column}", first["msg"], "correct the cell"
                    ) from error
                if language.code in languages:
                    problem = f"{language.code} is there twice"
                    raise DataError(path, place, problem, "delete one of the lines")
                languages[language.code] = language
        return cls(path, languages.values())

    def __getitem__(self, code: str) -> Language:
        """Return the language with that code.

        Raises:
            DataError: if the table has none; names codes that look or sound like it.
        """
        try:
            return self._by_code[code]
        except KeyError:
            names = {language.name.lower(): language.code for language in self}
            near = [
                *difflib.get_close_matches(code, self._by_code, n=3, cutoff=0.5),
                *(names[name] for name in difflib.get_close_matches(code.lower(), names, n=2)),
                *(language.code for language in self if language.iso639_3 == code),
            ]
            listed = f"; near it: {', '.join(dict.fromkeys(near))}" if near else ""
            raise DataError(
                self.path,
                f"code {code}",
                f"no such language{listed}",
                "use a code of that table or add a row",
            ) from None

    def __contains__(self, code: object) -> bool:
        return code in self._by_code

    def __iter__(self) -> Iterator[Language]:
        return iter(self._by_code.values())

    def __len__(self) -> int:
        return len(self._by_code)

    def subset(
        self,
        *,
        in_mbert: bool | None = None,
        in_xlmr: bool | None = None,
        codes: Iterable[str] | None = None,
    ) -> Languages:
        """Return the languages with these flags, or with these codes in their order, or both.

        Raises:
            DataError: if one of ``codes`` is unknown.
        """
        chosen = list(self) if codes is None else [self[code] for code in codes]
        return Languages(
            self.path,
            [
                language
                for language in chosen
                if in_mbert in (None, language.in_mbert) and in_xlmr in (None, language.in_xlmr)
            ],
        )

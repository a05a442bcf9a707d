"""The table of languages: names, codes, genera, and which encoders cover them."""

import csv
import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mbert_atlas.errors import DataError
from mbert_atlas.files import read_text


class Language(BaseModel):
    """One row of ``resources/languages.csv``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: str = Field(pattern=r"^[a-z]{2,3}(_[a-z]+)?$")  # as the papers and Wikipedia use it
    name: str = Field(min_length=1)  # in English
    iso639_3: str = Field(pattern=r"^[a-z]{3}$")
    script: str = Field(pattern=r"^[A-Z][a-z]{3}( [A-Z][a-z]{3})*$")  # ISO 15924; main one first
    family: str = Field(min_length=1)  # as in WALS, like the genus
    genus: str = Field(min_length=1)
    # The others are empty where the resource lacks the language.
    wals_code: str = Field(pattern=r"^([a-z]{2,3})?$")
    wiki: str = Field(pattern=r"^[a-z-]*$")  # subdomain of its Wikipedia
    # WALS feature 81A; none: no order dominates.
    word_order: Literal["SVO", "SOV", "VSO", "VOS", "OVS", "OSV", "none", ""]
    ud_name: str = Field(pattern=r"^[A-Za-z_]*$")  # in Universal Dependencies 2.7
    ud_code: str = Field(pattern=r"^[a-z]{0,3}$")  # in the names of its treebanks' files
    ntrex: str = Field(pattern=r"^([a-z]{3}(-[A-Za-z]+)?)?$")  # suffix of its file in NTREX-128
    tatoeba: str = Field(pattern=r"^([a-z]{3})?$")  # in LASER's Tatoeba test sets
    in_mbert: bool  # one of multilingual BERT's 104 languages
    in_xlmr: bool  # one of XLM-R's 100 languages


class Languages:
    """Languages by code, in the order of the table."""

    def __init__(self, path: Path | str, by_code: dict[str, Language]) -> None:
        self.path, self._by_code = Path(path), by_code

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Read the table (``resources/languages.csv``).

        Raises DataError if it is missing, empty or not UTF-8, a column is missing or unknown, a
        cell is wrong, or a code is there twice; names the line and the column.
        """
        languages: dict[str, Language] = {}
        lines = read_text(Path(path)).splitlines()
        reader = csv.DictReader(lines, restkey="beyond the last")
        for row in reader:
            place = f"line {reader.line_num}"
            try:
                language = Language.model_validate(row)
            except ValidationError as error:
                first = error.errors()[0]
                place += f", column {first['loc'][0]}"
                fix = "correct the cell or the header"
                raise DataError(path, place, first["msg"], fix) from error
            if language.code in languages:
                problem = f"{language.code} is there twice"
                raise DataError(path, place, problem, "delete one of the lines")
            languages[language.code] = language
        if not languages:
            raise DataError(path, "", "the table has no rows", "restore it")
        return cls(path, languages)

    def __getitem__(self, code: str) -> Language:
        """Return the language with that code.

        Raises DataError if the table has none; suggests similar codes and names.
        """
        if code in self._by_code:
            return self._by_code[code]
        codes = {n: one.code for one in self for n in (one.iso639_3, one.name.lower(), one.code)}
        near = dict.fromkeys(codes[name] for name in difflib.get_close_matches(code.lower(), codes))
        problem = "no such language" + (f"; similar: {', '.join(near)}" if near else "")
        raise DataError(self.path, f"code {code}", problem, "use a code of that table or add a row")

    def __iter__(self) -> Iterator[Language]:
        return iter(self._by_code.values())

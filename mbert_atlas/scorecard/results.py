"""Folders of finished runs: their claims, and what each run is, from the files that it has."""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from pathlib import Path

import pandas as pd

from mbert_atlas.config.encoders import size_of
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_json, read_text
from mbert_atlas.scorecard.verdicts import COLUMNS, NOT_RUN, read_verdicts

PRESET, ENCODER = "preset", "encoder "
"""Names, or how names begin, of what pages state of a run next to versions of software."""
FACTS = "run.json"
"""File of a published folder with what the run is; its data and models are elsewhere."""
COMPARABLE = "comparable with the papers"
"""Name of a fact: ``yes``, or what the numbers are about instead."""
_SCOPES = ("highlights", "available")  # folders with pages of a part of the run above them
_SYNTHETIC = "synthetic data that this software generated"
_STATED = ("artifact", "effect_of", "above", "below")
"""Columns in which versions of one claim have to agree."""
_RUN = re.compile(r"<title>mbert-atlas: run (.*?)</title>")
_WORLD = re.compile(r"“Holds” means: (.*?)\.</strong>")
_PROVENANCE = re.compile(r"Provenance</h2>\s*<dl>(.*?)</dl>", re.DOTALL)
_FACT = re.compile(r"<dt>(.*?)</dt><dd>(.*?)</dd>")


@dataclass(frozen=True)
class Results:
    """A finished run, or the part of it that a page shows, such as its highlights."""

    folder: Path  # with `claims.csv`
    label: str  # differs from those of the other folders
    claims: pd.DataFrame  # see :data:`.verdicts.COLUMNS`
    facts: dict[str, str]  # what the run is, by name

    @property
    def root(self) -> Path:
        """The folder with measurements, data and models."""
        return _root(self.folder)

    @property
    def is_comparable(self) -> bool:
        """Whether its numbers are comparable with the papers'."""
        return self.facts.get(COMPARABLE) == "yes"


def read_results(folders: Sequence[Path]) -> list[Results]:
    """Read folders of finished runs.

    Raises a DataError if a folder is no results folder, is given twice, or has claims that were
    judged by another version of the rule or state another expectation than those before.
    """
    distinct: dict[Path, Path] = {}
    for folder in folders:
        if (same := distinct.setdefault(folder.resolve(), folder)) is not folder:
            raise DataError(folder, "", f"the same folder as {same}", "name each folder once")
    labels = _labels(list(distinct))
    results = [
        Results(folder, label, claims := _read_claims(folder), _facts(folder, label, claims))
        for folder, label in zip(folders, labels, strict=True)
    ]
    for one, other in combinations(results, 2):
        _check_same_claims(one, other)
    return results


def _root(folder: Path) -> Path:
    return folder if (folder / "measurements").is_dir() else folder.parent


def _labels(folders: Sequence[Path]) -> list[str]:
    """Return the last part of the runs' paths that differs between all, or else the paths."""
    runs = [folder.parent if folder.name in _SCOPES else folder for folder in folders]
    for end in range(1, min(len(run.parts) for run in runs) + 1):
        labels = [run.parts[-end] for run in runs]
        if len(set(labels)) == len(labels):
            return labels
    return list(map(str, folders))


def _read_claims(folder: Path) -> pd.DataFrame:
    path = folder / "claims.csv"
    if not path.is_file():
        part = next((name for name in _SCOPES if (folder / name).is_dir()), "")
        fix = f"name {folder / part}" if part else "make the target `available` and name its folder"
        raise DataError(folder, "", "there is no claims.csv", fix)
    try:
        claims = read_verdicts(path)
    except (ValueError, KeyError) as error:  # empty, or not even a table
        problem = f"it is no table of claims ({error})"
        raise DataError(path, "", problem, "judge them again") from None
    if missing := [column for column in COLUMNS if column not in claims.columns]:
        columns = ", ".join(missing)
        problem = f"no column {columns}: another version of mbert-atlas judged the claims"
        fix = "judge them again with this version, by the target claims.csv of that folder"
        raise DataError(path, "", problem, fix)
    return claims


def _check_same_claims(one: Results, other: Results) -> None:
    """Raise an error if a claim that both have is about something else in one of them."""
    keys = ["paper", "id", "protocol"]
    both = one.claims.merge(other.claims, on=keys)
    for column in _STATED:
        here, there = both[f"{column}_y"], both[f"{column}_x"]
        differ = (here != there) & ~(here.isna() & there.isna())
        if differ.any():
            row = both[differ].iloc[0]
            values = f"{row[f'{column}_y']}, but {row[f'{column}_x']} in {one.folder}"
            problem = f"{column} of {row['paper']}'s claim {row['id']} is {values}, which another "
            problem += "version of mbert-atlas judged"
            fix = "judge the claims of both by one version"
            raise DataError(other.folder / "claims.csv", "", problem, fix)


def _facts(folder: Path, label: str, claims: pd.DataFrame) -> dict[str, str]:
    """Return what a run is, by name; what no file of its folder states is left out."""
    if (folder / FACTS).is_file():
        return {str(name): str(text) for name, text in read_json(folder / FACTS).items()}
    root, index = _root(folder), _text(folder / "index.html")
    name, world = _first(_RUN, index), _first(_WORLD, index)
    page = next(iter(sorted((folder / "papers").glob("*.html"))), folder)
    listed = _FACT.findall(_first(_PROVENANCE, _text(page)))
    stated = {html.unescape(name): html.unescape(text) for name, text in listed}
    encoders = {
        name.removeprefix(ENCODER): stated.pop(name)
        for name in list(stated)
        if name.startswith(ENCODER)
    }
    if (record := folder / "provenance.json").is_file():  # the config may have others
        used = read_json(record)["encoders"]
        encoders = {name: encoders[name] for name in encoders if name in used}
    preset = stated.pop(PRESET, "")
    was_run = claims[claims["verdict"] != NOT_RUN]
    runs = [path for path in root.glob("runs/*/seed*") if "-draw" not in path.parts[-2]]
    seeds = {int(path.name.removeprefix("seed")) for path in runs}
    facts = {
        "run": name or label,
        COMPARABLE: (f"no, {world}" if world else "yes") if index else "",
        PRESET: preset,
        **{ENCODER + name: text for name, text in with_sizes(encoders, root).items()},
        "data": data_read(root),
        "protocols": ", ".join(was_run["protocol"].unique()),
        "seeds": ", ".join(map(str, sorted(seeds))),
        "date": str(date.fromtimestamp((folder / "claims.csv").stat().st_mtime)),
        "versions": ", ".join(f"{name} {text}" for name, text in stated.items()),
        "cost": cost_of(folder / "cost.csv"),
    }
    return {name: text for name, text in facts.items() if text}


def _text(path: Path) -> str:
    return read_text(path) if path.is_file() else ""


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return html.unescape(match[1]) if match else ""


def with_sizes(encoders: Mapping[str, str], root: Path) -> dict[str, str]:
    """Return where each encoder comes from and how large it is, as far as files state it."""
    paths = sorted(root.glob("encoders/*/*/config.json"))
    sizes = {path.parts[-3]: size_of(path) for path in paths}
    return {
        name: ", ".join(filter(None, [encoders.get(name), sizes.get(name)]))
        for name in {**encoders, **sizes}
    }


def data_read(root: Path) -> str:
    """Return the number of languages of all corpora that were read, and these, from their cards."""
    corpora, languages = dict[str, None](), set[str]()
    for path in sorted((root / "data").rglob("*.card.json")):
        content = read_json(path)
        for card in [content] if "source_files" in content else content.values():
            if card.get("read_from"):
                corpora.update(dict.fromkeys(card["dataset"].split("; ")))
                languages.update(re.split("[ -]", card["language"]))
    names = [_SYNTHETIC if name == "miniature" else name for name in corpora]
    return f"{len(languages)} languages in all, from {', '.join(names)}" if names else ""


def cost_of(path: Path) -> str:
    """Return hours and memory of all jobs."""
    if not path.is_file():
        return ""
    cost = pd.read_csv(path)
    hours = {kind: cost[f"{kind}_hours"].sum() for kind in ("wall", "cpu", "gpu")}
    text = f"{hours['wall']:.2g} hours if all jobs ran one after the other"
    text += f", {hours['cpu']:.2g} CPU hours"
    text += f", {hours['gpu']:.2g} GPU hours" if hours["gpu"] else ""
    return f"{text}; at most {cost['peak_memory_mb'].max() / 1000:.2g} GB of memory a job"

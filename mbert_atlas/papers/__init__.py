"""The papers: one folder each, found and not listed.

A paper's ``config.py`` holds the model ``Section`` of its section of the config, and
``check(config)``, which says whether that section fits the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, create_model

from mbert_atlas import strict_yaml
from mbert_atlas.config.checks import check_config
from mbert_atlas.config.merging import in_order_of, laid_over
from mbert_atlas.config.mistakes import Mistake, check_name
from mbert_atlas.config.model import Config
from mbert_atlas.config.reading import BASE, located, read_yaml, validate
from mbert_atlas.config.taking_back import NAMED
from mbert_atlas.errors import DataError


def names() -> list[str]:
    """Return the papers that there are, sorted."""
    return sorted(path.parent.name for path in Path(__file__).parent.glob("*/config.py"))


def section(paper: str) -> type[BaseModel]:
    """Return the model of a paper's section of the config."""
    model: type[BaseModel] = import_module(f"{__name__}.{paper}.config").Section
    return model


def config_model(papers: Collection[str]) -> type[Config]:
    """Return the config with the sections of these papers."""
    sections: dict[str, Any] = {
        paper: (section(paper), Field(description=f"Artifacts of {paper}.")) for paper in papers
    }
    return create_model("Config", __base__=Config, **sections)


def config_files(config: Mapping[str, Any], root: Path = Path(".")) -> list[Path]:
    """Return the files of the papers that a config selects, each followed by its preset's.

    Args:
        config: with ``papers`` and ``preset``, where they are given; unknown papers have no files.
        root: folder of the repository.
    """
    endings = ["yaml", *([f"{config['preset']}.yaml"] if config.get("preset") else [])]
    files = [
        root / f"config/papers/{paper}.{ending}"
        for paper in _selected(config)
        for ending in endings
    ]
    return [path for path in files if path.is_file()]


def read_config(
    values: Mapping[str, Any],
    files: Sequence[Path | str] = (),
    languages: Collection[str] = (),
    rules: Collection[str] = (),
    typed: Collection[str] = (),
) -> Config:
    """Turn merged values into the config of the selected papers.

    Args:
        values: the merged mapping; sections of papers that are not selected are left out.
        files: the files it came from, see :func:`mbert_atlas.config.reading.validate`.
        languages: the language codes that a dataset may name; none: any.
        rules: the rules that take resources; none: any.
        typed: top-level keys that were given on the command line; texts under them are read as
            YAML, which Snakemake does not do.

    Raises:
        DataError: (several: DataErrors) names the file and the line of each mistake, the key and
            the mend.
    """
    values = {**values, **{key: _typed(key, values[key]) for key in typed if key in values}}
    given, papers = values.get("papers"), _selected(values)
    for paper in given if isinstance(given, list) else ():
        try:
            check_name("papers", str(paper), names())
        except Mistake as mistake:
            raise located([mistake], files, typed) from mistake
    if idle := _idle_nulls(values, files):
        raise located(idle, files, typed)
    for path in reversed(files):  # the lowest file's order comes first
        values = in_order_of(values, read_yaml(Path(path)))
    left_out = set(names()) - set(papers)
    kept = {key: value for key, value in values.items() if key not in left_out}
    return validate(
        config_model(papers),
        kept | ({"papers": papers} if given is None else {}),
        files,
        typed,
        [
            lambda config: check_config(config, languages, rules, _written(config)),
            *(import_module(f"{__name__}.{paper}.config").check for paper in papers),
        ],
    )


def _typed(key: str, value: Any) -> Any:
    """Return what was typed under a key of ``--config``."""
    if isinstance(value, Mapping):
        return {name: _typed(key, item) for name, item in value.items()}
    if isinstance(value, list):
        return [_typed(key, item) for item in value]
    try:
        return strict_yaml.value_of(value) if isinstance(value, str) else value
    except ValueError as error:
        problem, _, mend = str(error).partition("; ")
        raise DataError("--config", f"key {key}", problem, mend) from error


def _written(config: Config) -> Collection[str]:
    """Return the languages that the miniature can write, if there is one."""
    if not config.miniature:
        return ()
    known: Collection[str] = import_module("mbert_atlas.miniature.language").MINIATURE_LANGUAGES
    return known


def _idle_nulls(values: Mapping[str, Any], files: Sequence[Path | str]) -> list[Mistake]:
    """Return the nulls that take nothing out, as no file has such an entry."""
    found = []
    for section in (*NAMED, "resources"):
        entries = values.get(section)
        nulls = [name for name in entries if entries[name] is None] if entries else []
        if not nulls or not files:
            continue
        below = [read_yaml(Path(file)).get(section) or {} for file in files]
        there = {str(name) for part in below for name in part if part[name] is not None}
        for name in nulls:
            if not any(fnmatchcase(name, pattern) for pattern in there):
                near = get_close_matches(name, there, 1)
                mend = f"did you mean {near[0]!r}?" if near else "delete the line"
                problem = f"there is no {name!r} that null could take out"
                found.append(Mistake(f"{section}.{name}", problem, mend))
    return found


def load(
    overlays: Sequence[Path] = (), root: Path = Path("."), languages: Collection[str] = ()
) -> Config:
    """Read the config as Snakemake does: the base file, the papers', and ``overlays`` over them.

    Raises:
        DataError: if a file is missing, is not YAML or holds a key or value that is refused.
    """
    above: dict[str, Any] = {}
    for path in overlays:
        above = laid_over(above, read_yaml(path))
    merged = completed(above, root)
    return read_config(merged, [root / BASE, *config_files(merged, root), *overlays], languages)


def completed(above: Mapping[str, Any], root: Path = Path(".")) -> dict[str, Any]:
    """Return a config laid over the base file and the files of the papers that it selects.

    Raises:
        DataError: if one of these is missing or is not YAML.
    """
    merged = laid_over(read_yaml(root / BASE), above)
    for path in config_files(merged, root):
        merged = laid_over(laid_over(merged, read_yaml(path)), above)
    return merged


def _selected(config: Mapping[str, Any]) -> list[str]:
    given = config.get("papers")
    chosen = names() if given is None else given if isinstance(given, list) else []
    return [paper for paper in names() if paper in chosen]

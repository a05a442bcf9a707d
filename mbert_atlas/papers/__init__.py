"""The papers: one folder each, found and not listed.

A paper's ``config.py`` holds the model ``Section`` of its section of the config, and
``check(config)``, which says whether that section fits the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, create_model

from mbert_atlas.config.checks import check_config
from mbert_atlas.config.merging import in_order_of, laid_over
from mbert_atlas.config.mistakes import Mistake, check_name
from mbert_atlas.config.model import Config
from mbert_atlas.config.reading import BASE, located, read_yaml, validate


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
        typed: top-level keys that were given on the command line.

    Raises:
        DataError: names the file and the line of the first mistake, the key and the mend.
    """
    given, papers = values.get("papers"), _selected(values)
    try:
        for paper in given if isinstance(given, list) else ():
            check_name("papers", str(paper), names())
    except Mistake as mistake:
        raise located(mistake, files, typed) from mistake
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
            lambda config: check_config(config, languages, rules),
            *(import_module(f"{__name__}.{paper}.config").check for paper in papers),
        ],
    )


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
    merged = laid_over(read_yaml(root / BASE), above)
    files = config_files(merged, root)
    for path in files:
        merged = laid_over(laid_over(merged, read_yaml(path)), above)
    return read_config(merged, [root / BASE, *files, *overlays], languages)


def _selected(config: Mapping[str, Any]) -> list[str]:
    given = config.get("papers")
    chosen = names() if given is None else given if isinstance(given, list) else []
    return [paper for paper in names() if paper in chosen]

"""The papers: one folder each, discovered and not listed.

A paper's ``config.py`` holds ``Section``, the model of its section of the config, and
``check(config)``, which reports what of that section does not fit the rest.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache, partial
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, create_model

from mbert_atlas import strict_yaml
from mbert_atlas.config.checks import check_config
from mbert_atlas.config.merging import SOURCES, mapping_at, merge, merge_all, with_last_source
from mbert_atlas.config.mistakes import Mistake, check_name, gathering, report
from mbert_atlas.config.model import Config
from mbert_atlas.config.preparation import NAMED, prepared
from mbert_atlas.config.reading import BASE, located, read_yaml, validate, with_lines
from mbert_atlas.config.targets import with_other_languages
from mbert_atlas.errors import DataError

_RESOURCES = Path(__file__).resolve().parents[2] / "resources"
_DEFINING = {"kind", "like", "corpus", "task", "method", *SOURCES}
"""Keys of which a new entry of a section has one, and one that changes an entry may have none."""


def names() -> list[str]:
    """Return the papers, sorted."""
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

    A preset ``small-scratch`` is a variant of ``small``, whose files come before its own. Raises a
    DataError for a preset of which no paper has a file, and for one without the file that makes it
    not ``comparable``, as data of the preset would pass for the papers'.
    """
    preset = str(config.get("preset") or "")
    with_file = [path.name.split(".")[1] for path in root.glob("config/papers/*.*.yaml")]
    if preset and preset not in with_file and with_file:
        # What one paper alone has a file of is no preset, but adds to some.
        several = {name for name in with_file if with_file.count(name) > 1}
        problem = f"no paper has a file of {preset!r}"
        fix = f"leave the key out, or name one of {', '.join(sorted(several))}"
        raise DataError("config", "key preset", problem, fix)
    presets = list(accumulate(preset.split("-"), "{}-{}".format))
    for path in sorted(root.glob("config/*.yaml")) if preset and config.get("comparable") else ():
        base = read_yaml(path)
        if base.get("preset") in presets and base.get("comparable") is False:
            problem = f"{preset!r} goes over {path}, without which `comparable` is true"
            raise DataError("config", "key preset", problem, f"give {path} before the other files")
    endings = ["", *(f".{preset}" for preset in presets)]
    stems = [paper + ending for paper in _selected(config) for ending in endings]
    paths = [root / f"config/papers/{stem}.yaml" for stem in stems]
    return [path for path in paths if path.is_file()]


def read_config(
    values: Mapping[str, Any],
    files: Sequence[Path | str] = (),
    languages: Collection[str] = (),
    rules: Collection[str] = (),
    typed: Collection[str] = (),
) -> Config:
    """Turn merged values into the config of the selected papers.

    Sections of others are left out, and so is what changes or removes an entry of theirs.

    For ``files`` see :func:`mbert_atlas.config.reading.validate`, for ``languages`` and ``rules``
    :func:`mbert_atlas.config.checks.check_config`. Texts under ``typed``, the top-level keys of the
    command line, are read as YAML, which Snakemake does not do. A DataError (several: DataErrors)
    names file, line, key and fix of each mistake.
    """
    values = {key: _typed(key, item) if key in typed else item for key, item in values.items()}
    contents = [read_yaml(Path(file)) for file in files]
    _check_shapes(files, contents)
    # Snakemake lists what a preset changes first; the order is that of the lowest file.
    below = merge_all(contents)
    if values:  # in a module of another workflow its files have keys for others, too
        below = {key: item for key, item in below.items() if key in values}
    values = _without_others(merge(below, values), contents)
    if encoders := mapping_at(values, "encoders"):
        values["encoders"] = {
            name: with_last_source(item, [mapping_at(it, "encoders", name) for it in contents])
            for name, item in encoders.items()
        }
    papers = _selected(values)
    removed = {
        f"{section}.{name}"
        for section in NAMED
        for name, item in mapping_at(values, section).items()
        if item is None
    }
    with gathering() as mistakes:
        for paper in values["papers"] if isinstance(values.get("papers"), list) else ():
            check_name("papers", str(paper), names())
        if contents:
            _check_nulls(values, contents)
        values = prepared(values)
    if mistakes:
        raise located(mistakes, files, typed)
    for paper in set(names()) - set(papers):
        values.pop(paper, None)
    if values.get("papers") is None:
        values["papers"] = papers
    miniature = import_module("mbert_atlas.miniature.language") if values.get("miniature") else None
    written = miniature.MINIATURE_LANGUAGES if miniature else ()
    checks = [
        lambda config: check_config(config, languages, rules, written),
        _check_charged,
        partial(_check_comparable, contents),
        *(import_module(f"{__name__}.{paper}.config").check for paper in papers),
    ]
    change = partial(with_other_languages, checks=checks, lacks=_lacks, codes=languages)
    return validate(
        config_model(papers), values, files, typed, checks, change=change, removed=removed
    )


@cache
def _holdings() -> Any:
    # Here, as starts without added languages need none of it.
    from mbert_atlas.languages import Languages
    from mbert_atlas.miniature.language import MINIATURE_LANGUAGES
    from mbert_atlas.miniature.writing import written_names
    from mbert_atlas.plan.holdings import Holdings
    from mbert_atlas.sources.register import Register

    languages = Languages.read(_RESOURCES / "languages.csv")
    register = Register.read(_RESOURCES / "sources.yaml")
    return Holdings(languages, register, MINIATURE_LANGUAGES, cache(written_names))


def _lacks(config: Config, dataset: str, code: str) -> str:
    """Return why files do not have a language, see :meth:`.Holdings.lacks`."""
    return str(_holdings().lacks(config, dataset, code))


def load(
    overlays: Sequence[Path] = (),
    root: Path = Path("."),
    languages: Collection[str] = (),
    rules: Collection[str] = (),
    settings: Mapping[str, Any] | None = None,
) -> Config:
    """Read the config as Snakemake does: the base file, the papers', ``overlays``, ``settings``.

    The last are those of ``--config``.
    """
    paths = files(overlays, root, settings)
    values = merge(merge_all([*map(read_yaml, paths)]), settings) if settings else {}
    return read_config(values, paths, languages, rules, settings or ())


def files(
    overlays: Sequence[Path] = (),
    root: Path = Path("."),
    settings: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Return the files of a config, the last one wins; see :func:`load`."""
    above = merge_all([*(read_yaml(file) for file in [root / BASE, *overlays]), settings or {}])
    try:
        return [root / BASE, *config_files(above, root), *overlays]
    except DataError as error:
        raise with_lines(error, [root / BASE, *overlays], settings or ()) from None


def completed(above: Mapping[str, Any], root: Path = Path(".")) -> dict[str, Any]:
    """Return a config over the base file and the files of the papers that it selects."""
    below = config_files(merge(read_yaml(root / BASE), above), root)
    return merge_all([*map(read_yaml, [root / BASE, *below]), above])


def _selected(config: Mapping[str, Any]) -> list[str]:
    chosen = config.get("papers")
    listed = chosen if isinstance(chosen, list) else []
    return [paper for paper in names() if chosen is None or paper in listed]


def _without_others(
    values: Mapping[str, Any], contents: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return values without changes to entries that only papers that are left out define."""
    unknown: dict[str, list[str]] = {}
    for section in NAMED:
        parts = [mapping_at(content, section) for content in [*contents, values]]
        items = [(str(name), item) for part in parts for name, item in part.items()]
        new = {name for name, it in items if isinstance(it, Mapping) and _DEFINING & it.keys()}
        entries = [name for name in parts[-1] if not _matches(str(name), new)]
        unknown |= {section: entries} if entries else {}
    papers = sorted({*names()} - {*_selected(values)})
    if not (contents and unknown and papers):  # without files, it is not known who defines what
        return dict(values)
    root = _RESOURCES.parent
    others = merge_all([*map(read_yaml, config_files({**values, "papers": papers}, root))])
    kept = dict(values)
    for section, entries in unknown.items():
        defined = [str(name) for name in mapping_at(others, section)]
        gone = {name for name in entries if _matches(str(name), defined)}
        kept[section] = {name: it for name, it in values[section].items() if name not in gone}
    return kept


def _matches(name: str, patterns: Collection[str]) -> bool:
    """Return whether a name is an entry, or one of those that an entry with ``*`` stands for."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _check_comparable(contents: Sequence[Mapping[str, Any]], config: Config) -> None:
    """Report an encoder in place of a paper's, which the lowest of the files names."""
    for name, encoder in config.encoders.items():
        entries = [(content.get("encoders") or {}).get(name) or {} for content in contents]
        hubs = ((entry.get("hub") or {}).get("repository") for entry in entries)
        lowest = next(filter(None, hubs), None)
        if config.comparable and lowest and not (encoder.hub and encoder.hub.repository == lowest):
            problem = f"with another encoder than {lowest} numbers are not the papers'"
            report(Mistake(f"encoders.{name}", problem, "write `comparable: false`"))


def _check_shapes(files: Sequence[Path | str], contents: Sequence[Mapping[str, Any]]) -> None:
    """Raise a DataError for a value in place of a mapping that files before and after it have."""
    for number, content in enumerate(contents):
        others = contents[:number], contents[number + 1 :]
        below, above = map(merge_all, others)
        for place, found in _no_mappings(below, content, above):
            where = f"line {strict_yaml.lines(Path(files[number]))[place]}, key {place}"
            problem = f"a mapping is expected, as in other files, found {found!r}"
            raise DataError(files[number], where, problem, "write one, or delete the line")


def _no_mappings(
    below: Mapping[str, Any], here: Mapping[str, Any], above: Mapping[str, Any], place: str = ""
) -> Iterator[tuple[str, Any]]:
    """Yield place and value where ``here`` alone has something else than a mapping or null."""
    for key, value in here.items():
        old, new = below.get(key), above.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            if isinstance(value, Mapping):
                yield from _no_mappings(old, value, new, f"{place}{key}.")
            elif value is not None:
                yield f"{place}{key}", value


def _typed(key: str, value: Any) -> Any:
    """Return a value of ``--config``, texts read as YAML."""
    if isinstance(value, Mapping):
        return {name: _typed(key, item) for name, item in value.items()}
    if isinstance(value, list):
        return [_typed(key, item) for item in value]
    try:
        return strict_yaml.value_of(value) if isinstance(value, str) else value
    except ValueError as error:
        problem, _, fix = str(error).partition("; ")
        raise DataError("--config", f"key {key}", problem, fix) from error


def _check_charged(config: Config) -> None:
    """Report families of runs whose cost is attributed to no paper of the repository."""
    papers = names()
    for name, family in config.runs.items():
        check_name(f"runs.{name}.paper", family.paper, papers, " as a paper")


def _check_nulls(values: Mapping[str, Any], contents: Sequence[Mapping[str, Any]]) -> None:
    """Report nulls that remove nothing, as no file has such an entry."""
    for key in (*NAMED, "resources"):
        sections = [content.get(key) for content in [*contents, values]]
        *below, merged = [item if isinstance(item, Mapping) else {} for item in sections]
        defined = {str(name) for each in below for name in each if each[name] is not None}
        for name in [str(name) for name, item in merged.items() if item is None]:
            if not _matches(name, defined):
                near = get_close_matches(name, defined, 1)
                fix = f"did you mean {near[0]!r}?" if near else "delete the line"
                problem = f"there is no {name!r} that null could remove"
                report(Mistake(f"{key}.{name}", problem, fix))

"""Reading config files: every mistake is named with file, line, key and fix."""

import difflib
import re
import reprlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from mbert_atlas import strict_yaml
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.config.mistakes import Mistake, gathering, going_on
from mbert_atlas.errors import DataError, joined

BASE = Path("config/config.yaml")
_TAGS = ("corpus", "kind", "task")
"""Keys that discriminate the models of a union."""
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 100
_Model = TypeVar("_Model", bound=BaseModel)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a config file, see :func:`mbert_atlas.strict_yaml.read`; it must be a mapping."""
    if not path.exists():
        presets = [*path.parent.glob("*.y*ml"), *BASE.parent.glob("*.yaml")]
        near = {item for item in presets if item.stem == path.stem}
        near = near or set(map(Path, difflib.get_close_matches(str(path), map(str, presets), 1)))
        fix = f"did you mean {min(near)}?" if near else "correct the path"
        raise DataError(path, "", "no such file", fix)
    value = strict_yaml.read(path)
    if not isinstance(value, dict):
        raise DataError(path, "", "not a mapping of keys", "start from config/demo.yaml")
    return value


def validate(
    model: type[_Model],
    values: Mapping[str, Any],
    files: Sequence[Path | str] = (),
    typed: Collection[str] = (),
    checks: Iterable[Callable[[_Model], None]] = (),
    described: Path | str = BASE,
    change: Callable[[_Model], _Model] = lambda model: model,
    removed: Collection[str] = (),
) -> _Model:
    """Turn merged values into a model and, once each part is valid, check that the parts fit.

    ``files`` are those that the values come from, the last one wins; ``typed`` are top-level keys
    of the command line, over all files; ``described`` is the file that describes the keys,
    ``removed`` the entries that are null; ``change`` returns another model, which is checked. A
    DataError (several: DataErrors) names file, line, key and fix of each mistake.
    """
    try:
        config = model.model_validate(values)
    except ValidationError as error:
        # A key that is missing may be there, but misspelt: that comes first.
        items = sorted(error.errors(include_url=False), key=lambda item: item["type"] == "missing")
        mistakes = [_mistake(model, item, values, described) for item in items]
    else:
        with gathering() as mistakes:
            config = change(config)
            for check in checks:
                with going_on():
                    check(config)
    if mistakes:
        above = {mistake.place for mistake in mistakes if not mistake.is_missing}
        mistakes = [
            _of_removed(mistake, removed)
            for mistake in mistakes
            if not (mistake.is_missing and mistake.place.rpartition(".")[0] in above)
        ]
        raise located(mistakes, files, typed, are_presets_right=True)
    return config


def _of_removed(mistake: Mistake, removed: Collection[str]) -> Mistake:
    """Return a mistake about a name that is not defined, as one of the null that removes it."""
    for place in removed:
        if mistake.name and place.partition(".")[2] == mistake.name:
            problem = "null removes it, and other entries name it"
            return Mistake(place, problem, f"keep it, or change {mistake.place}, too")
    return mistake


@dataclass(frozen=True)
class _Placed:
    """A mistake with its place in a file."""

    mistake: Mistake
    file: str
    line: int  # 0: nowhere
    is_exact: bool  # the key itself is written there, and not only one above it

    @property
    def cause(self) -> tuple[str, str]:
        """Key and problem, the same for families and protocols that inherit the key."""
        keys = self.mistake.place.split(".")
        if keys[0] == "runs":
            keys = [PROTOCOLS[0] if key in PROTOCOLS else key for key in keys[2:]]
        return ".".join(keys), self.mistake.problem.replace(self.mistake.place, "")


def located(
    mistakes: Iterable[Mistake],
    files: Sequence[Path | str],
    typed: Collection[str] = (),
    are_presets_right: bool = False,
) -> DataError:
    """Return the error that names file and line of one or more mistakes; see :func:`validate`.

    Mistakes that families inherit are left out; if ``are_presets_right``, also those in presets
    that follow from some in other files, or on the command line.
    """
    lines = {str(file): strict_yaml.lines(Path(file)) for file in files}
    mistakes = [_of_misspelt_entry(mistake, lines.values()) for mistake in mistakes]
    placed = [_place(mistake, lines, typed) for mistake in mistakes]
    exact = {item.cause for item in placed if item.is_exact}
    placed = [item for item in placed if item.is_exact or item.cause not in exact]
    if are_presets_right:
        presets = {file for file, keys in lines.items() if _is_preset(Path(file), keys)}
        placed = [item for item in placed if item.file not in presets] or placed
    # A name that several entries lack, in one place, is one mistake.
    named = {(it.file, it.line, it.mistake.place, it.mistake.name or it): it for it in placed[::-1]}
    groups: dict[tuple[str, int, str], list[Mistake]] = defaultdict(list)
    for item in reversed(named.values()):
        # What families inherit is written in one place, but a mistake of each of them.
        problem = item.mistake.problem.removeprefix(repr(item.mistake.name))
        groups[item.file, item.line, problem].append(item.mistake)
    errors = []
    for (file, line, _), (first, *others) in sorted(groups.items(), key=lambda item: item[0][:2]):
        where = [f"line {line}"] if line else []
        where += [f"key {first.place}"] if first.place else []
        names = dict.fromkeys(repr(other.name) for other in others if other.name != first.name)
        nor = f" (nor {', '.join(names)})" if names else ""
        errors.append(DataError(file, ", ".join(where), first.problem + nor, first.fix))
    return joined(errors)


def _place(mistake: Mistake, lines: dict[str, dict[str, int]], typed: Collection[str]) -> _Placed:
    if mistake.place.partition(".")[0] in typed:
        return _Placed(mistake, "--config", 0, is_exact=True)
    above = mistake.place.rpartition(".")[0]
    written = (above if mistake.is_missing else "") or mistake.place
    file, line, key = _locate(written, lines)
    return _Placed(mistake, file, line, key == written)


def _is_preset(file: Path, keys: Collection[str]) -> bool:
    """Return whether a file of the config comes with the repository, by its name and keys."""
    return file.name == BASE.name or file.parent.name == "papers" or "preset" in keys


def _of_misspelt_entry(mistake: Mistake, lines: Collection[Mapping[str, int]]) -> Mistake:
    """Return a mistake with the name of an entry that was meant, if one file alone has its own.

    Such an entry lacks what the other would have: a misspelt name stands for a new entry.
    """
    place = mistake.place.rpartition(".")[0] if mistake.is_missing else mistake.place
    section, mark, name = place.partition(".")
    entry = re.compile(rf"{re.escape(section)}\.([^.]+)")
    names = [found[1] for keys in lines for key in keys if (found := entry.fullmatch(key))]
    is_bare = mistake.problem.endswith(("is missing", "(found none)"))
    written = name if name in names else next((it for it in names if fnmatchcase(name, it)), name)
    if not (mark and is_bare) or "." in name or names.count(written) != 1:
        return mistake
    # `nli` after `nli-*`, or before it if the name has a `*`, too.
    others = sorted({*names} - {written}, reverse="*" not in written)
    stems = {_stem(other): other for other in others}
    if not (near := difflib.get_close_matches(_stem(written), stems, 1)):
        return mistake
    problem = f"no other file has {written!r}, and as a new entry: {mistake.problem}"
    return Mistake(mistake.place, problem, f"did you mean {stems[near[0]]!r}?")


def _stem(name: str) -> str:
    return name.replace("*", "").strip("-")


def with_lines(
    error: DataError, files: Sequence[Path | str], typed: Collection[str] = ()
) -> DataError:
    """Return an error whose mistakes in a merged config, ``config, key x``, have their lines."""
    errors: list[DataError] = getattr(error, "errors", [error])
    merged = [item for item in errors if item.path == "config"]
    if not merged:
        return error
    mistakes = [Mistake(it.where.removeprefix("key "), it.problem, it.fix) for it in merged]
    placed = located(mistakes, files, typed)
    others = [item for item in errors if item.path != "config"]
    return joined([*others, *getattr(placed, "errors", [placed])])


def _locate(place: str, lines: dict[str, dict[str, int]]) -> tuple[str, int, str]:
    """Return where the longest prefix of a key is written last: file, line (0: nowhere), prefix."""
    while place:
        for file, known in reversed(lines.items()):
            # The `*` of a family stands for several names.
            patterns = [key for key in known if "*" in key and key.count(".") == place.count(".")]
            for key in [place, *(key for key in patterns if fnmatchcase(place, key))]:
                if key in known:
                    return file, known[key], place
        place = place.rpartition(".")[0]
    return next(reversed(lines), "config"), 0, ""


def _mistake(model: type[BaseModel], error: Any, values: Any, described: Path | str) -> Mistake:
    """Return pydantic's error as a sentence."""
    keys = _keys(error, values)
    described = _description_of(model, keys, described)
    problem = str(error["msg"]).removeprefix("Value error, ")
    fix = f"correct it; {described} describes every key"
    match error["type"]:
        case "extra_forbidden":
            problem = "there is no such key"
            fix = _other_key(keys[-1], _models_at(model, keys[:-1], values), described)
        case "missing":
            problem = "the key is missing"
        case "too_short" if error["ctx"]["actual_length"] == 0:
            problem = "the list is empty"
            fix = "name something, or leave the key out; null removes what is inherited"
        case "literal_error" if isinstance(error["input"], str):
            problem += f", found {_SHORT.repr(error['input'])}"
            choices = re.findall("'([^']*)'", error["ctx"]["expected"])
            if near := difflib.get_close_matches(error["input"], choices, 1):
                fix = f"did you mean {near[0]!r}?"
        case "dict_type" if error["input"] is None:
            problem = "a mapping is expected, found null"
            fix = "remove its entries one by one with null"
        case "list_type" if isinstance(error["input"], str | int):
            problem += f", found {_SHORT.repr(error['input'])}"
            fix = f"write [{error['input']}]"
        case "model_type":
            problem = f"a mapping of keys is expected, found {_SHORT.repr(error['input'])}"
            (inner, *_) = _models_at(model, keys, values) or [model]
            fix = f"write some of {', '.join(inner.model_fields)}"
        case "union_tag_not_found":
            problem = f"the key {error['ctx']['discriminator']} is missing"
        case "union_tag_invalid":
            keys.append(error["ctx"]["discriminator"].strip("'"))
            problem = f"{error['ctx']['tag']!r} is not one of {error['ctx']['expected_tags']}"
        case "value_error":
            stated, mark, own_fix = problem.rpartition("; ")
            problem, fix = (stated, own_fix) if mark else (problem, fix)
        case _:
            value = error["input"]
            problem += f", found {'null' if value is None else _SHORT.repr(value)}"
    return Mistake(".".join(keys), problem, fix, is_missing=error["type"] == "missing")


def _description_of(
    model: type[BaseModel], keys: Sequence[str], described: Path | str
) -> Path | str:
    """Return the file that describes a key: of a paper's section, that of the paper."""
    field = model.model_fields.get(keys[0]) if keys and described == BASE else None
    module = getattr(field.annotation, "__module__", "") if field else ""
    is_paper = module.startswith("mbert_atlas.papers.")
    return BASE.parent / f"papers/{keys[0]}.yaml" if is_paper else described


def _keys(error: Mapping[str, Any], values: Any) -> list[str]:
    """Return the keys of an error's location, which also holds the tags of unions."""
    keys = []
    for number, part in enumerate(error["loc"], 1):
        try:
            values = values[part]
        except (LookupError, TypeError):  # a tag, or the key that is missing
            if error["type"] != "missing" or number < len(error["loc"]):
                continue
        keys.append(str(part))
    return keys


def _other_key(key: str, models: Sequence[type[BaseModel]], described: Path | str) -> str:
    """Return what to do about a key that the first of the models lacks."""
    others = [tag for model in models[1:] if key in model.model_fields for tag in _tags_of(model)]
    if others:
        return f"{', '.join(sorted(others))} {'has' if len(others) == 1 else 'have'} it"
    near = difflib.get_close_matches(key, models[0].model_fields, 1)
    few = ", ".join([*models[0].model_fields][:20])
    return f"did you mean {near[0]!r}?" if near else f"known: {few}; {described} describes them"


def _tags_of(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the tags by which a union selects a model; none if it is in no union."""
    fields = [model.model_fields[key] for key in _TAGS if key in model.model_fields]
    return get_args(fields[0].annotation) if fields else ()


def item_of(annotation: Any) -> Any:
    """Return the type of the items of a mapping or list; none for anything else."""
    if get_origin(annotation) in (Union, UnionType):
        return next(filter(None, map(item_of, get_args(annotation))), None)
    return get_args(annotation)[-1] if get_origin(annotation) in (dict, list) else None


def models_of(annotation: Any, value: Any) -> list[type[BaseModel]]:
    """Return the models of a field: one, or those of a union; none for plain values.

    The model with the tag of ``value``, or else with most of its keys, comes first.
    """
    mapping = value if isinstance(value, Mapping) else {}
    tags = {str(mapping.get(key)) for key in _TAGS}

    def misfit(model: type[BaseModel]) -> tuple[bool, int]:
        # The kind of a family that is `like` another is the other's.
        return tags.isdisjoint(_tags_of(model)), len(set(mapping) - set(model.model_fields))

    return sorted(_models_in(annotation), key=misfit)


def _models_at(annotation: Any, keys: Sequence[str], value: Any) -> list[type[BaseModel]]:
    """Return the models, see :func:`models_of`, of the part of ``value`` that ``keys`` lead to."""
    if get_origin(annotation) is list and not isinstance(value, list):  # one item for a list of it
        annotation = item_of(annotation)
    models = models_of(annotation, value)
    if not keys:
        return models
    key, *rest = keys
    inner = models[0].model_fields[key].annotation if models else item_of(annotation)
    return _models_at(inner, rest, value[int(key) if isinstance(value, list) else key])


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (dict, list, tuple, None):
        return []
    return [model for argument in get_args(annotation) for model in _models_in(argument)]

"""Checks of the files that a config names, before any job starts."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from mbert_atlas.config.datasets import resource_keys
from mbert_atlas.config.preparation import asked_for
from mbert_atlas.encoders.folders import check_folder
from mbert_atlas.errors import DataError, joined
from mbert_atlas.miniature.writing import written_names
from mbert_atlas.plan.plan import CLAIMS, REPORTED, Plan
from mbert_atlas.scorecard.claims import Claims, read_claims
from mbert_atlas.sources.mirror import Mirror
from mbert_atlas.sources.register import Register
from workflow.opening import check_opening

_REQUESTED = re.compile(r'resources(?:=|\()"(\w+)"')
"""How rules and artifacts name what they request from the config's ``resources``."""


def requesting(home: Path) -> set[str]:
    """Return the keys that ``resources`` can have: of rules, large measurements and datasets."""
    sources = [
        *(home / "workflow/rules").glob("*.smk"),
        *(home / "mbert_atlas/papers").glob("*/artifacts.py"),
    ]
    names = {name for path in sources for name in _REQUESTED.findall(path.read_text())}
    return names | set(resource_keys())


def check_files(plan: Plan) -> None:
    """Check claims, encoders, the mirror, and whether upstream files can be had at all.

    A DataError (several: DataErrors) names what is wrong; its key is one of the merged config.
    """
    codes, mistakes = [item.code for item in plan.languages], list[DataError]()
    for name in plan.papers:
        claims, reported = (plan.home / file.format(name) for file in (CLAIMS, REPORTED))
        mistakes += _removed(plan, name, read_claims(claims, name, reported, languages=codes))
    mistakes += _bad_folders(plan)
    if not mistakes and not plan.config.without_missing:
        mistakes += _unknown_files(plan)
    if mistakes:
        raise joined(mistakes)


def _removed(plan: Plan, paper: str, claims: Claims) -> Iterator[DataError]:
    """Yield an error for each removed language that a claim of a planned artifact is about."""
    planned = {artifact.name for artifact in plan.papers[paper].artifacts}
    for code in plan.config.remove_languages:
        ids = [
            key
            for key, claim in claims.claims.items()
            if claim.artifact in planned and any(it.get("target") == [code] for it in claim.terms)
        ]
        if ids:
            more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
            problem = f"the claim {ids[0]!r}{more} of {paper} needs {code!r}"
            fix = "keep it, or remove the table or figure of the claim by null"
            yield DataError("config", "key remove_languages", problem, fix)


def _bad_folders(plan: Plan) -> Iterator[DataError]:
    for name, encoder in plan.config.encoders.items():
        try:
            if encoder.folder:
                check_folder(Path(encoder.folder))
                check_opening(Path(encoder.folder))
        except DataError as error:
            problem = f"{', '.join(filter(None, [error.path, error.where]))}: {error.problem}"
            yield DataError("config", f"key encoders.{name}.folder", problem, error.fix)
    if plan.config.figure_style:
        from mbert_atlas.figures.style import read_sheet  # matplotlib takes a second to import

        try:
            read_sheet(plan.home / plan.config.figure_style)
        except DataError as error:
            problem = f"{error.path}: {error.problem}"
            yield DataError("config", "key figure_style", problem, error.fix)
    if plan.config.mirror and not Path(plan.config.mirror).is_dir():
        problem = f"there is no folder {plan.config.mirror}"
        yield DataError("config", "key mirror", problem, "correct the path")


def _unknown_files(plan: Plan) -> Iterator[DataError]:
    """Yield an error for each file of a dataset in use that nothing makes, holds or lists."""
    config, seen = plan.config, set[str]()
    needed = asked_for(config.model_dump(mode="json"))
    register = Register.read(plan.home / "resources/sources.yaml")
    written = written_names(config.miniature.languages) if config.miniature else frozenset()
    copies = Mirror.read(config.mirror) if config.mirror and not config.miniature else None
    for name, dataset in config.datasets.items():
        for code in dataset.languages if name in needed and not dataset.parent else ():
            is_own = code in (dataset.files_by_language or {})
            place = f"files_by_language.{code}" if is_own else "files"
            for path in plan.upstream_names(name, [code]):
                where = f"key datasets.{name}.{place}"
                if problem := dataset.misnamed(path, plan.languages[code], plan.languages):
                    yield DataError("config", where, f"{path}: {problem}", "correct the path")
                    continue
                if path in seen or path in written or (copies and copies.holder(path)):
                    continue
                seen.add(path)
                if config.miniature:
                    near = get_close_matches(path, written, 1)
                    fix = f"did you mean {near[0]}?" if near else "drop the dataset"
                    yield DataError("config", where, f"the synthetic data have no {path}", fix)
                    continue
                try:
                    register.locate(path)
                except DataError as error:
                    yield DataError("config", where, f"{path}: {error.problem}", error.fix)

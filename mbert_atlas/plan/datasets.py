"""Which upstream files a dataset of the config is made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mbert_atlas.config.datasets import Dataset, Source
from mbert_atlas.config.model import Config
from mbert_atlas.errors import DataError
from mbert_atlas.languages import Language, Languages


def sources(name: str, dataset: Dataset, language: str, languages: Languages) -> list[Source]:
    """Return the upstream files of one language of a dataset, placeholders filled in.

    Raises:
        DataError: if the config names no file for that language, or an unknown placeholder.
    """
    files = (dataset.files_by_language or {}).get(language)
    if files is None and dataset.files is not None:
        files = [Source(path=dataset.files, partners=list(getattr(dataset, "partners", ())))]
    if not files:
        raise DataError(
            "config",
            f"key datasets.{name}.files_by_language",
            f"no files for language {language!r}",
            "add them or drop the language",
        )
    return [_filled(name, source, dataset, languages[language]) for source in files]


def upstream_files(config: Config, languages: Languages) -> list[str]:
    """Return every upstream path that the datasets of a config are made from, sorted."""
    paths: set[str] = set()
    for name, dataset in config.datasets.items():
        if dataset.parent:
            continue
        for language in dataset.languages:
            for source in sources(name, dataset, language, languages):
                paths.update([source.path, *source.partners])
    return sorted(paths)


def described(
    name: str,
    dataset: Dataset,
    codes: Sequence[str],
    languages: Languages,
    place: Callable[[str], str],
) -> dict[str, Any]:
    """Return what decides how a dataset is read, as a parameter of the jobs that do.

    Args:
        name: name of the dataset.
        dataset: its section of the config.
        codes: the languages that are read.
        languages: all languages.
        place: returns where an upstream file lies.

    Returns:
        The keys of the section; ``sources``: the upstream files by language, in place of the keys
        that name them; ``languages``: the rows of the table of languages by code.
    """

    def placed(source: Source) -> dict[str, Any]:
        partners = [place(partner) for partner in source.partners]
        return source.model_dump(mode="json") | {"path": place(source.path), "partners": partners}

    return {
        **dataset.model_dump(mode="json", exclude={"files", "files_by_language", "languages"}),
        "languages": {code: languages[code].model_dump(mode="json") for code in codes},
        "sources": {
            code: [placed(source) for source in sources(name, dataset, code, languages)]
            for code in codes
        },
    }


def _filled(name: str, source: Source, dataset: Dataset, language: Language) -> Source:
    values = {
        "language": language.code,
        # Dump files write zh-classical as zh_classical.
        "wiki": language.wiki.replace("-", "_"),
        "ud_code": language.ud_code,
        "pair": "-".join(sorted(["en", language.code])),
        "iso639_3": language.iso639_3,
        "ntrex": language.ntrex,
        "tatoeba": language.tatoeba,
        "ud_name": language.ud_name,
    }

    def fill(path: str) -> str:
        try:
            return path.format(**values)
        except (KeyError, IndexError, ValueError, AttributeError, TypeError) as error:
            raise DataError(
                "config",
                f"key datasets.{name}",
                f"{path!r} has a placeholder that is not known ({error})",
                f"use one of {', '.join(values)}",
            ) from error

    return source.model_copy(
        update={
            "path": fill(source.path),
            "partners": [fill(partner) for partner in source.partners],
            "format": source.format or getattr(dataset, "format", None),
        }
    )

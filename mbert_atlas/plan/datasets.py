"""Which upstream files a dataset of the config is made from."""

from mbert_atlas.config.datasets import Dataset, Source
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


def _filled(name: str, source: Source, dataset: Dataset, language: Language) -> Source:
    values = {
        "language": language.code,
        "wiki": language.wiki.replace("-", "_"),  # dump files write zh-classical as zh_classical
        "pair": "-".join(sorted(["en", language.code])),
        **language.model_dump(include={"ud_code", "iso639_3", "ntrex", "tatoeba", "ud_name"}),
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

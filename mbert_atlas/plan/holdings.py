"""Which languages the upstream files of a dataset have, by their names and by the register."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from string import Formatter
from typing import Any

from mbert_atlas.config.model import Config
from mbert_atlas.languages import Languages
from mbert_atlas.plan.files import sources_of
from mbert_atlas.sources.register import Register

_TABLE = "resources/languages.csv"


@dataclass(frozen=True)
class Holdings:
    """What is known of upstream files before any is here.

    Synthetic data can be ``written`` in some languages; ``names`` returns their files.
    """

    languages: Languages
    register: Register
    written: Collection[str]
    names: Callable[[tuple[str, ...]], Collection[str]]

    def lacks(self, config: Config, name: str, code: str) -> str:
        """Return why the files of a dataset do not have a language; empty: they do.

        Files outside the folders of the register are those of the user, and have it.
        """
        dataset: Any = config.datasets[name]
        if dataset.parent or code in (dataset.files_by_language or {}):
            return ""  # it has what its parent has
        if config.miniature and code not in self.written:
            return "there are no synthetic data in it"
        row = self.languages[code]
        if dataset.column and not getattr(row, dataset.column):
            return f"it has no {dataset.column} in {_TABLE}"
        if dataset.files is None:
            return f"no file of it is named in datasets.{name}.files_by_language"
        names = {
            field
            for path in (dataset.files, *dataset.partners)
            for _, field, *_ in Formatter().parse(path)
            if field
        }
        for field in sorted(names):
            column = {"subdomain": "wiki"}.get(field, field)
            if not getattr(row, column, True):
                return f"it has no {column} in {_TABLE}"
        (placed,) = sources_of(name, dataset, code, self.languages)
        path, source = placed.path, self.register.find(placed.path)
        several = source.entry.languages if source else []
        if several:
            codes = config.miniature.languages if config.miniature else several
            return "" if code in codes else f"{path} does not have it"
        if not names and not dataset.column:
            return f"{path} has one language; name a file in datasets.{name}.files_by_language"
        if config.miniature:
            written = filter(self.written.__contains__, config.miniature.languages)
            is_there = path in self.names(tuple(written))
            return "" if is_there else f"the synthetic data have no {path}"
        return "" if source or not self.register.covers(path) else f"there is no {path}"

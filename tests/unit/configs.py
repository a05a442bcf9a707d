"""Configs of the repository with changes, and the sentence that a mistake in one gives."""

from functools import cache, reduce
from pathlib import Path

import pytest

from mbert_atlas import papers
from mbert_atlas.config.merging import merge
from mbert_atlas.config.reading import BASE, read_yaml
from mbert_atlas.errors import DataError
from mbert_atlas.languages import Languages

ROOT = Path(__file__).parents[2]
LANGUAGES = Languages.read(ROOT / "resources/languages.csv")
CODES = [language.code for language in LANGUAGES]
FILES = [ROOT / BASE, *papers.config_files({}, ROOT)]


@cache
def _paper_preset():
    return reduce(merge, map(read_yaml, FILES))


def values(**changes):
    """The paper preset with changes, as mappings."""
    return merge(_paper_preset(), changes)


def config(**changes):
    return papers.read_config(values(**changes))


def config_errors(folder, text):
    """The error messages for a file that is merged into the paper preset.

    Those about other files are left out if there are some about this one: they follow from them.
    """
    path = folder / "mine.yaml"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        papers.read_config(values(**read_yaml(path)), [*FILES, path], CODES)
    lines = str(caught.value).splitlines()
    own = [line.removeprefix(f"{path}, ") for line in lines if line.startswith(str(path))]
    return "\n".join(own or lines)

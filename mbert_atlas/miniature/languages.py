"""The languages of the miniature."""

from __future__ import annotations

from mbert_atlas.errors import DataError
from mbert_atlas.miniature.arabic import Arabic
from mbert_atlas.miniature.finnish import Finnish
from mbert_atlas.miniature.germanic import English, German
from mbert_atlas.miniature.hindi import Hindi
from mbert_atlas.miniature.isolating import Chinese, Indonesian, Vietnamese
from mbert_atlas.miniature.language import Language
from mbert_atlas.miniature.romance import French, Spanish
from mbert_atlas.miniature.slavic import Bulgarian, Russian
from mbert_atlas.miniature.turkish import Turkish

_ALL: tuple[type[Language], ...] = (
    English,
    Spanish,
    German,
    French,
    Russian,
    Bulgarian,
    Hindi,
    Vietnamese,
    Arabic,
    Chinese,
    Turkish,
    Indonesian,
    Finnish,
)
MINIATURE_LANGUAGES: dict[str, Language] = {language.code: language() for language in _ALL}
"""Code -> language; English first."""


def miniature_language(code: str) -> Language:
    """Return a language of the miniature.

    Raises:
        DataError: if the miniature does not speak it.
    """
    try:
        return MINIATURE_LANGUAGES[code]
    except KeyError:
        raise DataError(
            "the miniature",
            f"language {code}",
            "there is no grammar of it",
            f"choose from {' '.join(MINIATURE_LANGUAGES)} or add one",
        ) from None

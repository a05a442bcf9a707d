"""What the files of the synthetic data share: languages, sizes and streams of randomness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mbert_atlas.config.miniature import MiniatureSizes
from mbert_atlas.miniature import formats
from mbert_atlas.miniature.concepts import SCENES, Sampler
from mbert_atlas.miniature.language import Language
from mbert_atlas.miniature.meanings import Meaning, draw_meaning
from mbert_atlas.miniature.sentences import Sentence
from mbert_atlas.miniature.stories import foreign_words, is_held_out
from mbert_atlas.randomness import derive_seed

Files = Iterator[tuple[str, formats.Content]]
"""Paths in the layout of a mirror, and what each file holds."""
Members = dict[str, str | bytes]
"""Files of an archive by name."""


@dataclass(frozen=True)
class Generator:
    """Everything that files are generated from.

    Attributes:
        languages: languages of the corpora, English first.
        lenders: languages whose words are mixed into running texts.
        text_languages: languages of the texts for pretraining.
        seed: decides on everything.
        sizes: how much of each corpus is generated.
    """

    languages: Sequence[Language]
    lenders: Sequence[Language]
    text_languages: Sequence[Language]
    seed: int
    sizes: MiniatureSizes

    def rng(self, *names: str) -> Sampler:
        """Return the stream of randomness of that name."""
        return Sampler(derive_seed(self.seed, "miniature", *names))

    def meanings(
        self, rng: Sampler, number: int, seen: set[str], held_out: bool = True
    ) -> list[tuple[Meaning, Sentence]]:
        """Draw meanings, each with its English sentence, which is not in ``seen`` yet."""
        drawn: list[tuple[Meaning, Sentence]] = []
        while len(drawn) < number:
            rng.scene = rng.choice(SCENES)
            meaning = draw_meaning(rng)
            english = self.languages[0].sentence(meaning)
            if english.text not in seen and is_held_out(meaning) == held_out:
                seen.add(english.text)
                drawn.append((meaning, english))
        return drawn

    def foreign(self, name: str, language: Language) -> Callable[[str], str | None]:
        """Return what code-switches words of running text, with separate randomness."""
        rng = self.rng(name, language.code, "foreign")
        return foreign_words(rng, language, self.lenders, self.sizes.foreign_words)

"""What the files of the synthetic data share: languages, sizes and streams of randomness."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from mbert_atlas.config.miniature import MiniatureSizes
from mbert_atlas.miniature.concepts import SCENES, Sampler
from mbert_atlas.miniature.language import MINIATURE_LANGUAGES, Language
from mbert_atlas.miniature.meanings import Meaning, draw_meaning
from mbert_atlas.miniature.sentences import Sentence
from mbert_atlas.randomness import derive_seed

Content = str | Mapping[str, "Content"]  # a text, or an archive by member name
Files = Iterator[tuple[str, Content]]  # paths in the layout of a mirror, and what each file holds


def is_held_out(meaning: Meaning) -> bool:
    """Return whether a sentence, by its English, is of the tenth that only test sets have."""
    text = MINIATURE_LANGUAGES["en"].sentence(meaning).text
    return derive_seed(0, "held out", text) % 10 == 0


@dataclass(frozen=True)
class Generator:
    """Everything that files are generated from."""

    languages: Sequence[Language]  # of the corpora, English first
    lenders: Sequence[Language]  # whose words are mixed into running texts, English first
    text_languages: Sequence[Language]  # of the texts for pretraining
    seed: int
    sizes: MiniatureSizes

    @classmethod
    def of(
        cls, codes: Collection[str], lending: Collection[str], seed: int, sizes: MiniatureSizes
    ) -> Self:
        """Return the generator of some languages and English, as in training data."""
        languages, lenders = (
            [MINIATURE_LANGUAGES[code] for code in dict.fromkeys(["en", *some])]
            for some in (codes, lending)
        )
        texts = [language for language in languages if language.code in codes]
        return cls(languages, lenders, texts, seed, sizes)

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
        """Return what code-switches running text: some concepts get another language's word.

        Two thirds of these are English. The randomness is separate from that of the text.
        """
        rng = self.rng(name, language.code, "foreign")
        others = [other for other in self.lenders if other is not language]

        def foreign(concept: str) -> str | None:
            if not others or rng.random() >= self.sizes.foreign_words:
                return None
            return (others[0] if rng.random() < 2 / 3 else rng.choice(others)).citation(concept)

        return foreign

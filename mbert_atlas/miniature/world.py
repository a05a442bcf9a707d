"""One draw of meanings, written as a mirror of every upstream source."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mbert_atlas.config.miniature import MiniatureSizes
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_directory, sha256_of
from mbert_atlas.miniature import formats
from mbert_atlas.miniature.concepts import NOUNS, SCENES, Teller
from mbert_atlas.miniature.encyclopedia import draw_outlines, export, tell_pages
from mbert_atlas.miniature.entities import draw_named_meaning, tagged
from mbert_atlas.miniature.inference import LABELS, draw_triple
from mbert_atlas.miniature.language import Language, Sentence
from mbert_atlas.miniature.languages import miniature_language
from mbert_atlas.miniature.meanings import Clause, Meaning, Thing, draw_meaning
from mbert_atlas.miniature.reading import (
    Passage,
    Reading,
    answers_are_unique,
    draw_passage,
    read_passage,
)
from mbert_atlas.miniature.reference import dictionary, wals
from mbert_atlas.miniature.stories import draw_story, foreign_words, is_held_out
from mbert_atlas.progress import track
from mbert_atlas.randomness import derive_seed

DUMP_DATE = "20200420"
_NOISE = 0.1
"""Mined pairs that are no translations, as a share of those that are."""
_TRAINING_GENRES = ("fiction", "government", "slate", "telephone", "travel")
_MISMATCHED_GENRES = ("facetoface", "letters", "nineeleven", "oup", "verbatim")
_MLQA = ("en", "ar", "de", "es", "hi", "vi", "zh")
_TYDIQA = {"en": "english", "ar": "arabic", "fi": "finnish", "id": "indonesian", "ru": "russian"}
_QUESTIONS_OF_A_PASSAGE = 3
_PASSAGES_OF_AN_ARTICLE = 5
_MISPLACED = 0.02
"""Answers of the translated SQuAD whose offset is wrong, as alignment by machine leaves some."""
_XNLI_GENRES = tuple(sorted(_TRAINING_GENRES + _MISMATCHED_GENRES))


def write_miniature(
    destination: Path,
    languages: Sequence[str],
    seed: int,
    sizes: MiniatureSizes,
    only: Collection[str] | None = None,
) -> None:
    """Write a whole little world in every upstream format, as a mirror folder.

    Args:
        destination: the folder; an older miniature there is replaced as a whole.
        languages: codes; English is always among them, because training data are English.
        seed: the same seed gives the same bytes.
        sizes: how much of everything.
        only: the sources to write, by the name of their folder; None: all.

    Raises:
        DataError: if a language is unknown or ``destination`` holds something else.
    """
    destination = Path(destination)
    chosen = [miniature_language(code) for code in dict.fromkeys(["en", *languages])]
    if destination.exists() and not _replaceable(destination):
        raise DataError(
            destination,
            "",
            "the folder holds files that are no miniature",
            "name another folder or empty it",
        )
    with atomic_directory(destination) as folder:
        world = _World(folder, chosen, seed, sizes)
        for write, kinds in world.writers():
            if only is None or set(kinds) & set(only):
                write()
        world.write_manifest()


def _replaceable(destination: Path) -> bool:
    manifest = destination / "MANIFEST.tsv"
    if manifest.is_file():
        return _GENERATOR in manifest.read_text(encoding="utf-8")
    # Workflow managers make the folders of their outputs beforehand.
    return destination.is_dir() and not any(path.is_file() for path in destination.rglob("*"))


_GENERATOR = "mbert_atlas.miniature"


class _World:
    def __init__(
        self, folder: Path, languages: Sequence[Language], seed: int, sizes: MiniatureSizes
    ) -> None:
        self.folder, self.languages, self.seed, self.sizes = folder, languages, seed, sizes
        self.english = languages[0]

    def rng(self, *names: str) -> Teller:
        """Return the stream of randomness called ``names``."""
        return Teller(derive_seed(self.seed, "miniature", *names))

    def distinct_meanings(
        self, rng: Teller, said: set[str], held_out: bool
    ) -> Iterator[tuple[Meaning, Sentence]]:
        """Yield meanings whose English isn't in ``said`` yet, with that English."""
        while True:
            rng.scene = rng.choice(SCENES)
            meaning = draw_meaning(rng)
            english = self.english.sentence(meaning)
            if english.text not in said and is_held_out(meaning) == held_out:
                said.add(english.text)
                yield meaning, english

    def writers(self) -> list[tuple[Callable[[], None], tuple[str, ...]]]:
        """Return what writes a source, and the folders that it fills."""
        return [
            (self.write_encyclopedias, ("wikipedia",)),
            (self.write_plain_texts, ("cc100",)),
            (self.write_bitexts, ("wikimatrix", "opus-wikimatrix", "gold-alignments")),
            (self.write_tatoeba, ("tatoeba-laser",)),
            (self.write_references, ("muse", "wals")),
            (self.write_treebanks, ("universal-dependencies",)),
            (self.write_multinli, ("multinli",)),
            (self.write_xnli, ("xnli",)),
            (self.write_wikiann, ("wikiann",)),
            (self.write_squad, ("squad", "mlqa")),
            (self.write_xquad, ("xquad",)),
            (self.write_mlqa, ("mlqa",)),
            (self.write_tydiqa, ("tydiqa",)),
        ]

    def foreign(self, name: str, language: Language) -> Callable[[str], str | None]:
        """Return what puts foreign words into running text, with a randomness of its own."""
        rng = self.rng(name, language.code, "foreign")
        return foreign_words(rng, language, self.languages, self.sizes.foreign_words)

    def write_encyclopedias(self) -> None:
        """Write a pages-articles dump of each language: the same pages, told anew."""
        outlines = draw_outlines(self.rng("wikipedia"), self.sizes.wikipedia_pages)
        for language in track(self.languages, "miniature: encyclopedias"):
            rng = self.rng("wikipedia", language.code)
            pages = tell_pages(rng, language, outlines, self.foreign("wikipedia", language))
            name = f"wikipedia/{language.code}wiki-{DUMP_DATE}-pages-articles.xml.bz2"
            formats.write(self.folder / name, export(language, pages))

    def write_plain_texts(self) -> None:
        """Write CC-100: short stories to pretrain on, one a line, the same in every language."""
        rng = self.rng("plain texts")
        stories = [draw_story(rng) for _ in range(self.sizes.stories)]
        for language in track(self.languages, "miniature: plain texts"):
            foreign, space = self.foreign("plain texts", language), " " * language.spaced
            told = (space.join(language.sentence(m, foreign).text for m in s) for s in stories)
            formats.write(self.folder / f"cc100/{language.code}.txt.xz", formats.lines(told))

    def write_tatoeba(self) -> None:
        """Write LASER's Tatoeba test sets: sentence pairs with English, in two files."""
        stream = self.distinct_meanings(self.rng("tatoeba"), set(), held_out=True)
        pairs = [next(stream) for _ in range(self.sizes.gold_sentences)]
        for language in self.languages[1:]:
            name = f"tatoeba-laser/tatoeba.{language.iso639_3}-eng"
            other = (language.sentence(meaning).text for meaning, _ in pairs)
            formats.write(self.folder / f"{name}.{language.iso639_3}", formats.lines(other))
            english = formats.lines(sentence.text for _, sentence in pairs)
            formats.write(self.folder / f"{name}.eng", english)

    def write_references(self) -> None:
        """Write bilingual dictionaries, and what is known of the languages' grammar."""
        for language in self.languages[1:]:
            for one, two in ((self.english, language), (language, self.english)):
                path = self.folder / f"muse/dictionaries/{one.code}-{two.code}.txt"
                formats.write(path, formats.lines(dictionary(one, two)))
        for name, text in wals(self.languages).items():
            formats.write(self.folder / f"wals/cldf/{name}", text)

    def write_bitexts(self) -> None:
        """Write mined bitext, both releases of it, and gold alignments of other sentences."""
        wanted, gold = self.sizes.bitext_sentences, self.sizes.gold_sentences
        stream = self.distinct_meanings(self.rng("bitext"), set(), held_out=False)
        pool = [next(stream) for _ in range(2 * wanted)]
        stream = self.distinct_meanings(self.rng("gold"), set(), held_out=True)
        test = [next(stream) for _ in range(gold)]
        dev = [next(stream) for _ in range((gold + 1) // 2)]
        for language in track(self.languages[1:], "miniature: bitexts"):
            rng = self.rng("bitext", language.code)
            self.write_bitext(rng, language, pool)
            for split, meanings in (("dev", dev), ("test", test)):
                rows = (
                    formats.gold_row(english, language.sentence(meaning))
                    for meaning, english in meanings
                )
                path = self.folder / f"gold-alignments/XL-WA/data/{language.code}/{split}.tsv"
                formats.write(path, formats.lines(rows))

    def write_bitext(
        self, rng: Teller, language: Language, pool: Sequence[tuple[Meaning, Sentence]]
    ) -> None:
        """Write one language's share of ``pool`` with English."""
        chosen = rng.sample(pool, self.sizes.bitext_sentences)
        others = [language.sentence(meaning).text for meaning, _ in chosen]
        pairs = [
            (1.04 + 0.3 * rng.betavariate(2, 3), english.text, other)
            for (_, english), other in zip(chosen, others, strict=True)
        ]
        for _ in range(round(_NOISE * len(chosen))):
            one, two = rng.randrange(len(chosen)), rng.randrange(len(chosen))
            if one != two:
                pairs.append((1.0 + 0.06 * rng.random(), chosen[one][1].text, others[two]))
        pairs.sort(key=lambda pair: (-pair[0], pair[1:]))
        first, second = sorted(("en", language.code))
        swapped = first != "en"
        rows = ("\t".join((f"{s:.7f}", *((o, e) if swapped else (e, o)))) for s, e, o in pairs)
        name = f"WikiMatrix.{first}-{second}"
        formats.write(self.folder / f"wikimatrix/{name}.tsv.gz", formats.lines(rows))

        kept = [(english, other) for score, english, other in pairs if score >= 1.04]
        rng.shuffle(kept)
        members = {
            f"{name}.en": formats.lines(english for english, _ in kept),
            f"{name}.{language.code}": formats.lines(other for _, other in kept),
            "README": "Mined pairs of margin 1.04 and above, made by a grammar.\n",
        }
        formats.write_zip(self.folder / f"opus-wikimatrix/{first}-{second}.txt.zip", members)

    def write_treebanks(self) -> None:
        """Write English treebanks for training and parallel ones for testing."""
        said: set[str] = set()
        sizes = {"train": self.sizes.ud_train, "dev": self.sizes.ud_dev, "test": self.sizes.ud_test}
        for split, size in sizes.items():
            rng = self.rng("treebanks", split)
            stream = self.distinct_meanings(rng, said, held_out=split != "train")
            meanings = [next(stream) for _ in range(size)]
            for language in self.languages if split == "test" else self.languages[:1]:
                code = language.code
                blocks = []
                for number, (meaning, english) in enumerate(meanings, 1):
                    foreign = code != "en"
                    sentence = language.sentence(meaning) if foreign else english
                    comments = {"text_en": english.text} if foreign else None
                    blocks.append(formats.conllu(sentence, f"miniature-{split}-{number}", comments))
                name = f"UD_{language.name}-Miniature/{code}_miniature-ud-{split}.conllu"
                formats.write(self.folder / "universal-dependencies" / name, "".join(blocks))

    def pairs(
        self, rng: Teller, count: int, said: set[str], held_out: bool
    ) -> Iterator[tuple[int, str, Clause, Clause]]:
        """Yield ``count`` pairs: number of the premise, label, premise and hypothesis.

        Every premise comes with one hypothesis for each label, in an order of its own.
        """
        made = prompt = 0
        while made < count:
            premise, hypotheses = draw_triple(rng)
            english = self.english.sentence(Meaning(premise)).text
            if english in said or is_held_out(Meaning(premise)) != held_out:
                continue
            said.add(english)
            prompt += 1
            for label in rng.sample(LABELS, min(len(LABELS), count - made)):
                made += 1
                yield prompt, label, premise, hypotheses[label]

    def annotated(self, rng: Teller, label: str) -> list[str]:
        """Return five annotators' labels, the author's first; a majority agrees with ``label``."""
        labels = [label, *(label if rng.random() < 0.9 else rng.choice(LABELS) for _ in range(4))]
        return labels if Counter(labels)[label] >= 3 else [label] * 5

    def write_multinli(self) -> None:
        """Write MultiNLI: training pairs and two development sets, one with disputed pairs."""
        said: set[str] = set()
        members = {}
        sizes = self.sizes
        for split, count, genres in (
            ("train", sizes.nli_train, _TRAINING_GENRES),
            ("dev_matched", sizes.nli_test, _TRAINING_GENRES),
            ("dev_mismatched", sizes.nli_test, _MISMATCHED_GENRES),
        ):
            rng = self.rng("multinli", split)
            rows = []
            disputed = set(
                rng.sample(range(count), max(1, count // 50)) if split == "dev_matched" else ()
            )
            for number, (prompt, label, premise, hypothesis) in enumerate(
                self.pairs(rng, count, said, held_out=split != "train")
            ):
                labels = [label] if split == "train" else self.annotated(rng, label)
                gold = label
                if number in disputed:
                    other, third = (name for name in LABELS if name != label)
                    labels, gold = [label, label, other, other, third], "-"
                rows.append(
                    formats.multinli_row(
                        self.english.sentence(Meaning(premise)),
                        self.english.sentence(Meaning(hypothesis)),
                        labels,
                        gold,
                        prompt,
                        f"{prompt}{label[0]}",
                        genres[prompt % len(genres)],
                    )
                )
            members[f"multinli_1.0/multinli_1.0_{split}.jsonl"] = formats.lines(rows)
        members["multinli_1.0/README.txt"] = (
            "Pairs in the layout of MultiNLI 1.0, made by a grammar.\n"
        )
        formats.write_zip(self.folder / "multinli/multinli_1.0.zip", members)

    def write_xnli(self) -> None:
        """Write XNLI: the same pairs in all languages, those of one language together."""
        said: set[str] = set()
        members = {}
        for split in ("dev", "test"):
            rng = self.rng("xnli", split)
            pairs = [
                (*pair, self.annotated(rng, pair[1]))
                for pair in self.pairs(rng, self.sizes.nli_test, said, held_out=True)
            ]
            rows = ["\t".join(formats.XNLI_COLUMNS)]
            for language in sorted(self.languages, key=lambda language: language.code):
                for number, (prompt, label, premise, hypothesis, labels) in enumerate(pairs, 1):
                    rows.append(
                        formats.xnli_row(
                            language.code,
                            language.sentence(Meaning(premise)),
                            language.sentence(Meaning(hypothesis)),
                            labels,
                            label,
                            prompt,
                            number,
                            _XNLI_GENRES[prompt % len(_XNLI_GENRES)],
                        )
                    )
            members[f"XNLI-1.0/xnli.{split}.tsv"] = formats.lines(rows)
        formats.write_zip(self.folder / "xnli/XNLI-1.0.zip", members)

    def write_wikiann(self) -> None:
        """Write WikiANN, in each language sentences of its own."""
        members = {}
        for language in track(self.languages, "miniature: named entities"):
            test = self.sizes.ner_test
            sizes = {"dev": test, "test": test, "train": self.sizes.ner_train}
            texts = {}
            for split, size in sizes.items():
                rng = self.rng("wikiann", language.code, split)
                meanings: list[Meaning] = []
                while len(meanings) < size:
                    meaning = draw_named_meaning(rng)
                    if is_held_out(meaning) == (split != "train"):
                        meanings.append(meaning)
                texts[split] = formats.wikiann_rows(
                    language.code,
                    (tagged(language.sentence(meaning), meaning) for meaning in meanings),
                )
            members[f"{language.code}.tar.gz"] = formats.tar_gzip(texts)
        formats.write_zip(self.folder / "wikiann/panx_dataset.zip", members)

    def articles(
        self, rng: Teller, languages: Sequence[Language], count: int, most: int
    ) -> list[tuple[str, list[Passage]]]:
        """Return titles and passages with ``count`` questions in all.

        Args:
            rng: source of randomness.
            languages: languages in which every answer must stand once in its passage.
            count: number of questions.
            most: most questions of a passage.
        """
        articles: list[tuple[str, list[Passage]]] = []
        while count > 0:
            if not articles or len(articles[-1][1]) == _PASSAGES_OF_AN_ARTICLE:
                title = self.english.title(Thing(rng.choice(NOUNS), "indefinite", True))
                articles.append((f"{title}_{len(articles) + 1}", []))
            passage = draw_passage(rng, languages, min(most, count))
            count -= len(passage.questions)
            articles[-1][1].append(passage)
        return articles

    def in_language(
        self,
        articles: Sequence[tuple[str, Sequence[Passage]]],
        language: Language,
    ) -> list[tuple[str, list[Reading]]]:
        """Tell the passages of ``articles`` in one language."""
        return [
            (title, [read_passage(language, passage) for passage in passages])
            for title, passages in articles
        ]

    def squad(
        self,
        name: str,
        digits: int,
        contexts: Sequence[tuple[str, Sequence[Reading]]],
        questions: Sequence[tuple[str, Sequence[Reading]]],
    ) -> str:
        """Return a file in SQuAD's layout.

        Args:
            name: from which ids are made; parallel files share it.
            digits: hexadecimal digits of an id.
            contexts: articles in the language of the contexts.
            questions: the same articles in the language of the questions.
        """
        number = 0
        written = []
        for (title, told), (_, asked) in zip(contexts, questions, strict=True):
            paragraphs = []
            for context, other in zip(told, asked, strict=True):
                rows = []
                for question, answer in zip(other.questions, context.answers, strict=True):
                    number += 1
                    identifier = _identifier(f"{name}-{number}", digits)
                    rows.append(formats.asked(identifier, question, [answer]))
                paragraphs.append((context.text, rows))
            written.append((title, paragraphs))
        return formats.squad_json(written)

    def write_squad(self) -> None:
        """Write SQuAD in English, and its translation in the languages that MLQA has it in."""
        translated: dict[str, dict[str, str]] = {}
        for split, count in (("train", self.sizes.qa_train), ("dev", self.sizes.qa_test)):
            articles = self.articles(
                self.rng("squad", split), [self.english], count, _QUESTIONS_OF_A_PASSAGE
            )
            told = self.in_language(articles, self.english)
            name = f"squad-{split}"
            text = self.squad(name, 24, told, told)
            formats.write(self.folder / f"squad/{split}-v1.1.json", text)
            for language in track(self.languages[1:], "miniature: translated questions"):
                if language.code in _MLQA:
                    file = f"{language.code}_squad-translate-train-{split}-v1.1.json"
                    translated.setdefault(language.code, {})[f"mlqa-translate-train/{file}"] = (
                        self.translated(name, self.in_language(articles, language), language)
                    )
        if translated:
            members = {name: text for files in translated.values() for name, text in files.items()}
            path = self.folder / "mlqa/mlqa-translate-train.tar.gz"
            formats.write(path, formats.tar_gzip(members))

    def translated(
        self, name: str, articles: Sequence[tuple[str, Sequence[Reading]]], language: Language
    ) -> str:
        """Return a translation of SQuAD: without answers that stand twice, some misplaced."""
        rng = self.rng(name, "translated", language.code)
        number = 0
        written = []
        for title, told in articles:
            paragraphs = []
            for reading in told:
                rows = []
                for question, answer in zip(reading.questions, reading.answers, strict=True):
                    number += 1
                    start = answer.start + 1 if rng.random() < _MISPLACED else answer.start
                    if answers_are_unique(replace(reading, answers=(answer,))):
                        identifier = _identifier(f"{name}-{number}", 24)
                        rows.append(formats.asked(identifier, question, [(answer.text, start)]))
                if rows:
                    paragraphs.append((reading.text, rows))
            written.append((title, paragraphs))
        return formats.squad_json(written)

    def write_xquad(self) -> None:
        """Write XQuAD: the same passages and questions in all languages."""
        articles = self.articles(
            self.rng("xquad"), self.languages, self.sizes.qa_test, _QUESTIONS_OF_A_PASSAGE
        )
        for language in track(self.languages, "miniature: parallel questions"):
            told = self.in_language(articles, language)
            text = self.squad("xquad", 24, told, told)
            formats.write(self.folder / f"xquad/xquad.{language.code}.json", text)

    def write_mlqa(self) -> None:
        """Write MLQA: a file for each pair of languages of context and question."""
        members = {}
        everyone = [language for language in self.languages if language.code in _MLQA]
        for split, count in (
            ("dev", (self.sizes.qa_test + 1) // 2),
            ("test", self.sizes.qa_test),
        ):
            articles = self.articles(self.rng("mlqa", split), everyone, count, 1)
            told = {
                language.code: self.in_language(articles, language)
                for language in self.languages
                if language.code in _MLQA
            }
            for context, contexts in told.items():
                for question, questions in told.items():
                    file = f"MLQA_V1/{split}/{split}-context-{context}-question-{question}.json"
                    members[file] = self.squad(f"mlqa-{split}", 40, contexts, questions)
        formats.write_zip(self.folder / "mlqa/MLQA_V1.zip", members)

    def write_tydiqa(self) -> None:
        """Write the gold passages of TyDi QA's dev set: each language has its own."""
        written = []
        for language in self.languages:
            if language.code not in _TYDIQA:
                continue
            rng = self.rng("tydiqa", language.code)
            for _ in range(self.sizes.qa_test):
                passage = draw_passage(rng, [language], 1)
                reading = read_passage(language, passage)
                answers = [reading.answers[0], reading.phrases[0]][: rng.randint(1, 2)]
                identifier = f"{_TYDIQA[language.code]}-{rng.getrandbits(63)}-{rng.randrange(100)}"
                row = formats.asked(identifier, reading.questions[0], answers)
                title = language.title(Thing(rng.choice(NOUNS), "indefinite", True))
                written.append((title, [(reading.text, [row])]))
        text = formats.squad_json(written)
        formats.write(self.folder / "tydiqa/tydiqa-goldp-v1.1-dev.json", text)

    def write_manifest(self) -> None:
        """List every file with its size and checksum."""
        header = ["path", "bytes", "sha256", "dataset", "source", "commit", "licence", "note"]
        rows = ["\t".join(header), *self.manifest_rows(sorted(self.folder.rglob("*")))]
        formats.write(self.folder / "MANIFEST.tsv", formats.lines(rows))

    def manifest_rows(self, paths: Iterable[Path]) -> Iterator[str]:
        """Yield a row for each file."""
        for path in paths:
            if path.is_file():
                name = path.relative_to(self.folder).as_posix()
                dataset, source = name.split("/")[0], f"{_GENERATOR}, seed {self.seed}"
                row = (
                    name,
                    path.stat().st_size,
                    sha256_of(path),
                    dataset,
                    source,
                    "",
                    "Apache-2.0",
                    "",
                )
                yield "\t".join(map(str, row))


def _identifier(name: str, digits: int) -> str:
    """Return hexadecimal digits that depend on ``name`` alone."""
    return hashlib.sha256(name.encode()).hexdigest()[:digits]

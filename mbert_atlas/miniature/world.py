"""One draw of meanings, written as a mirror of every upstream source."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice, repeat
from pathlib import Path

from mbert_atlas.config.miniature import MiniatureSizes
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_directory, sha256_of
from mbert_atlas.miniature import formats
from mbert_atlas.miniature.concepts import NOUNS, SCENES, Teller
from mbert_atlas.miniature.encyclopedia import draw_outlines, export, tell_pages
from mbert_atlas.miniature.entities import draw_named_meaning, tagged
from mbert_atlas.miniature.inference import LABELS, draw_triple
from mbert_atlas.miniature.language import Language, Sentence, miniature_language
from mbert_atlas.miniature.meanings import Meaning, draw_meaning
from mbert_atlas.miniature.reading import Passage, Reading, draw_passage, read_passage
from mbert_atlas.miniature.reference import dictionary, wals
from mbert_atlas.miniature.stories import draw_story, foreign_words, is_held_out
from mbert_atlas.progress import track
from mbert_atlas.randomness import derive_seed

Files = Iterator[tuple[str, formats.Content]]
Members = dict[str, str | bytes]
Articles = list[tuple[str, list[Passage]]]
"""Titles and passages."""
Told = list[tuple[str, list[Reading]]]
DUMP_DATE = "20200420"
_GENERATOR = "mbert_atlas.miniature"
_NOISE = 0.1
"""Mined pairs that are no translations, as a share of those that are."""
_TRAINING_GENRES = ("fiction", "government", "slate", "telephone", "travel")
_MISMATCHED_GENRES = ("facetoface", "letters", "nineeleven", "oup", "verbatim")
_XNLI_GENRES = tuple(sorted(_TRAINING_GENRES + _MISMATCHED_GENRES))
_TREEBANKS = ("en", "de", "zh")
_MLQA = ("en", "ar", "de", "es", "hi", "vi", "zh")
_TYDIQA = {"en": "english", "ar": "arabic", "fi": "finnish", "id": "indonesian", "ru": "russian"}
_PASSAGES_OF_AN_ARTICLE = 5
_MISPLACED = 0.02
"""Answers of the translated SQuAD whose offset is wrong, as alignment by machine leaves some."""


def write_miniature(
    destination: Path,
    languages: Sequence[str],
    seed: int,
    sizes: MiniatureSizes,
    only: Collection[str] | None = None,
    lending: Collection[str] | None = None,
) -> None:
    """Write a whole little world in every upstream format, as a mirror folder.

    Args:
        destination: the folder; an older miniature there is replaced as a whole.
        languages: codes; English is always among them, because training data are English.
        seed: the same seed gives the same bytes.
        sizes: how much of everything.
        only: the sources to write, by the name of their folder; None: all.
        lending: languages whose words stand in others' running texts; None: all that are written.

    Raises:
        DataError: if a language is unknown or ``destination`` holds something else.
    """
    destination = Path(destination)
    chosen = [miniature_language(code) for code in dict.fromkeys(["en", *languages])]
    lenders = [miniature_language(code) for code in dict.fromkeys(["en", *(lending or languages)])]
    told = [one for one in chosen if one.code in languages]
    if destination.exists() and not _replaceable(destination):
        fault = "the folder holds files that are no miniature"
        raise DataError(destination, "", fault, "name another folder or empty it")
    with atomic_directory(destination) as folder:
        for name, content in _World(chosen, lenders, told, seed, sizes).files(only):
            formats.write(folder / name, content)
        rows = ["path\tbytes\tsha256\tdataset\tsource\tcommit\tlicence\tnote"]
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = path.relative_to(folder).as_posix()
            row = (name, str(path.stat().st_size), sha256_of(path), name.split("/")[0])
            rows.append("\t".join((*row, f"{_GENERATOR}, seed {seed}", "", "Apache-2.0", "")))
        formats.write(folder / "MANIFEST.tsv", formats.lines(rows))


def _replaceable(destination: Path) -> bool:
    manifest = destination / "MANIFEST.tsv"
    if manifest.is_file():
        return _GENERATOR in manifest.read_text(encoding="utf-8")
    # Workflow managers make the folders of their outputs beforehand.
    return destination.is_dir() and not any(path.is_file() for path in destination.rglob("*"))


@dataclass(frozen=True)
class _World:
    """What is drawn and told; the methods that yield files yield a path and what it holds."""

    languages: Sequence[Language]  # English first
    lenders: Sequence[Language]
    told: Sequence[Language]  # that there are texts to pretrain on in
    seed: int
    sizes: MiniatureSizes

    def files(self, only: Collection[str] | None) -> Files:
        """Yield the files of all sources, or of those that fill one of the folders ``only``."""
        for source, folders in (
            (self.encyclopedias, "wikipedia"),
            (self.plain_texts, "cc100"),
            (self.bitexts, "wikimatrix opus-wikimatrix gold-alignments"),
            (self.tatoeba, "tatoeba-laser"),
            (self.references, "muse wals"),
            (self.treebanks, "universal-dependencies"),
            (self.multinli, "multinli"),
            (self.xnli, "xnli"),
            (self.wikiann, "wikiann"),
            (self.squad, "squad mlqa"),
            (self.xquad, "xquad"),
            (self.mlqa, "mlqa"),
            (self.tydiqa, "tydiqa"),
        ):
            if only is None or set(folders.split()) & set(only):
                yield from source()

    def rng(self, *names: str) -> Teller:
        """Return the stream of randomness called ``names``."""
        return Teller(derive_seed(self.seed, "miniature", *names))

    def meanings(
        self, rng: Teller, number: int, said: set[str], held_out: bool = True
    ) -> list[tuple[Meaning, Sentence]]:
        """Draw meanings whose English isn't in ``said`` yet, with that English."""
        drawn: list[tuple[Meaning, Sentence]] = []
        while len(drawn) < number:
            rng.scene = rng.choice(SCENES)
            meaning = draw_meaning(rng)
            english = self.languages[0].sentence(meaning)
            if english.text not in said and is_held_out(meaning) == held_out:
                said.add(english.text)
                drawn.append((meaning, english))
        return drawn

    # ---- texts

    def foreign(self, name: str, language: Language) -> Callable[[str], str | None]:
        """Return what puts foreign words into running text, with a randomness of its own."""
        rng = self.rng(name, language.code, "foreign")
        return foreign_words(rng, language, self.lenders, self.sizes.foreign_words)

    def encyclopedias(self) -> Files:
        """Yield a pages-articles dump of each language: the same pages, told anew."""
        outlines = draw_outlines(self.rng("wikipedia"), self.sizes.wikipedia_pages)
        for language in track(self.languages, "miniature: encyclopedias"):
            rng, foreign = self.rng("wikipedia", language.code), self.foreign("wikipedia", language)
            pages = tell_pages(rng, language, outlines, foreign)
            name = f"wikipedia/{language.code}wiki-{DUMP_DATE}-pages-articles.xml.bz2"
            yield name, export(language, pages)

    def plain_texts(self) -> Files:
        """Yield CC-100: short stories to pretrain on, one a line, the same in every language."""
        rng = self.rng("plain texts")
        stories = [draw_story(rng) for _ in range(self.sizes.stories)]
        for language in track(self.told, "miniature: plain texts"):
            foreign, space = self.foreign("plain texts", language), " " * language.spaced
            told = (space.join(language.sentence(m, foreign).text for m in s) for s in stories)
            yield f"cc100/{language.code}.txt.xz", formats.lines(told)

    def tatoeba(self) -> Files:
        """Yield LASER's Tatoeba test sets: sentence pairs with English, in two files."""
        pairs = self.meanings(self.rng("tatoeba"), self.sizes.gold_sentences, set())
        for language in self.languages[1:]:
            name = f"tatoeba-laser/tatoeba.{language.iso639_3}-eng"
            other = (language.sentence(meaning).text for meaning, _ in pairs)
            yield f"{name}.{language.iso639_3}", formats.lines(other)
            yield f"{name}.eng", formats.lines(english.text for _, english in pairs)

    def references(self) -> Files:
        """Yield bilingual dictionaries, and what is known of the languages' grammar."""
        english = self.languages[0]
        for language in self.languages[1:]:
            for one, two in ((english, language), (language, english)):
                name = f"muse/dictionaries/{one.code}-{two.code}.txt"
                yield name, formats.lines(dictionary(one, two))
        for name, text in wals(self.languages).items():
            yield f"wals/cldf/{name}", text

    def bitexts(self) -> Files:
        """Yield mined bitext, both releases of it, and gold alignments of other sentences."""
        wanted, gold = self.sizes.bitext_sentences, self.sizes.gold_sentences
        pool = self.meanings(self.rng("bitext"), 2 * wanted, set(), held_out=False)
        both = self.meanings(self.rng("gold"), gold + (gold + 1) // 2, set())
        for language in track(self.languages[1:], "miniature: bitexts"):
            yield from self.bitext(language, pool)
            for split, meanings in (("dev", both[gold:]), ("test", both[:gold])):
                rows = (formats.gold_row(one, language.sentence(m)) for m, one in meanings)
                name = f"gold-alignments/XL-WA/data/{language.code}/{split}.tsv"
                yield name, formats.lines(rows)

    def bitext(self, language: Language, pool: Sequence[tuple[Meaning, Sentence]]) -> Files:
        """Yield one language's share of ``pool`` with English."""
        rng = self.rng("bitext", language.code)
        chosen = [
            (english.text, language.sentence(meaning).text)
            for meaning, english in rng.sample(pool, self.sizes.bitext_sentences)
        ]
        mined = [(1.04 + 0.3 * rng.betavariate(2, 3), *pair) for pair in chosen]
        for _ in range(round(_NOISE * len(chosen))):
            one, two = rng.randrange(len(chosen)), rng.randrange(len(chosen))
            if one != two:
                mined.append((1.0 + 0.06 * rng.random(), chosen[one][0], chosen[two][1]))
        mined.sort(key=lambda row: (-row[0], row[1:]))
        first, second = sorted(("en", language.code))
        swapped = first != "en"
        rows = ("\t".join((f"{s:.7f}", *((o, e) if swapped else (e, o)))) for s, e, o in mined)
        name = f"WikiMatrix.{first}-{second}"
        yield f"wikimatrix/{name}.tsv.gz", formats.lines(rows)

        kept = [(english, other) for score, english, other in mined if score >= 1.04]
        rng.shuffle(kept)
        members: Members = {
            f"{name}.en": formats.lines(english for english, _ in kept),
            f"{name}.{language.code}": formats.lines(other for _, other in kept),
            "README": "Mined pairs of margin 1.04 and above, made by a grammar.\n",
        }
        yield f"opus-wikimatrix/{first}-{second}.txt.zip", members

    def treebanks(self) -> Files:
        """Yield treebanks for training in some languages and parallel ones for testing in all."""
        said: set[str] = set()
        sizes = {"train": self.sizes.ud_train, "dev": self.sizes.ud_dev, "test": self.sizes.ud_test}
        for split, size in sizes.items():
            rng = self.rng("treebanks", split)
            meanings = self.meanings(rng, size, said, held_out=split != "train")
            for language in self.languages:
                code = language.code
                if split != "test" and code not in _TREEBANKS:
                    continue
                blocks = []
                for number, (meaning, english) in enumerate(meanings, 1):
                    sentence = language.sentence(meaning)
                    original = None if code == "en" else english.text
                    blocks.append(formats.conllu(sentence, f"miniature-{split}-{number}", original))
                folder = f"universal-dependencies/UD_{language.name}-Miniature"
                yield f"{folder}/{code}_miniature-ud-{split}.conllu", "".join(blocks)

    # ---- labelled sentences

    def pairs(
        self, rng: Teller, number: int, said: set[str], genres: Sequence[str], held_out: bool = True
    ) -> Iterator[formats.Pair]:
        """Yield pairs; a premise comes with one for each label, in an order of its own.

        Pairs held out have four more annotators, and a majority agrees with the author.
        """
        made = prompt = 0
        while made < number:
            premise, hypotheses = draw_triple(rng)
            english = self.languages[0].sentence(Meaning(premise)).text
            if english in said or is_held_out(Meaning(premise)) != held_out:
                continue
            said.add(english)
            prompt += 1
            for label in rng.sample(LABELS, min(len(LABELS), number - made)):
                made += 1
                labels = [label]
                for _ in range(4 if held_out else 0):
                    labels.append(label if rng.random() < 0.9 else rng.choice(LABELS))
                if held_out and labels.count(label) < 3:
                    labels = [label] * 5
                genre = genres[prompt % len(genres)]
                yield formats.Pair(premise, hypotheses[label], labels, label, prompt, genre)

    def multinli(self) -> Files:
        """Yield MultiNLI: training pairs and two development sets, one with disputed pairs."""
        said: set[str] = set()
        members: Members = {}
        for split, number, genres in (
            ("train", self.sizes.nli_train, _TRAINING_GENRES),
            ("dev_matched", self.sizes.nli_test, _TRAINING_GENRES),
            ("dev_mismatched", self.sizes.nli_test, _MISMATCHED_GENRES),
        ):
            rng = self.rng("multinli", split)
            disputed: set[int] = set()
            if split == "dev_matched":
                disputed.update(rng.sample(range(number), max(1, number // 50)))
            rows = []
            pairs = self.pairs(rng, number, said, genres, held_out=split != "train")
            for index, pair in enumerate(pairs):
                label, identifier = pair.gold, f"{pair.prompt}{pair.gold[0]}"
                if index in disputed:
                    other, third = (name for name in LABELS if name != label)
                    pair = pair._replace(labels=[label, label, other, other, third], gold="-")
                rows.append(formats.multinli_row(self.languages[0], identifier, pair))
            members[f"multinli_1.0/multinli_1.0_{split}.jsonl"] = formats.lines(rows)
        readme = "Pairs in the layout of MultiNLI 1.0, made by a grammar.\n"
        yield "multinli/multinli_1.0.zip", {**members, "multinli_1.0/README.txt": readme}

    def xnli(self) -> Files:
        """Yield XNLI: the same pairs in all languages, those of one language together."""
        said: set[str] = set()
        members: Members = {}
        for split in ("dev", "test"):
            rng, size = self.rng("xnli", split), self.sizes.nli_test
            pairs = list(self.pairs(rng, size, said, _XNLI_GENRES))
            rows = ["\t".join(formats.XNLI_COLUMNS)]
            for language in sorted(self.languages, key=lambda language: language.code):
                for number, pair in enumerate(pairs, 1):
                    rows.append(formats.xnli_row(language, str(number), pair))
            members[f"XNLI-1.0/xnli.{split}.tsv"] = formats.lines(rows)
        yield "xnli/XNLI-1.0.zip", members

    def wikiann(self) -> Files:
        """Yield WikiANN, in each language sentences of its own."""
        test, train = self.sizes.ner_test, self.sizes.ner_train
        members: Members = {}
        for language in track(self.languages, "miniature: named entities"):
            texts = {}
            for split, size in (("dev", test), ("test", test), ("train", train)):
                rng = self.rng("wikiann", language.code, split)
                drawn = map(draw_named_meaning, repeat(rng))
                kept = (meaning for meaning in drawn if is_held_out(meaning) == (split != "train"))
                told = (tagged(language.sentence(m), m) for m in islice(kept, size))
                texts[split] = formats.wikiann_rows(language.code, told)
            members[f"{language.code}.tar.gz"] = formats.tar_gzip(texts)
        yield "wikiann/panx_dataset.zip", members

    # ---- questions

    def articles(
        self, rng: Teller, languages: Sequence[Language], questions: int, most: int = 3
    ) -> Articles:
        """Return titles and passages with so many questions in all, ``most`` of a passage.

        Every answer stands once in its passage in each of ``languages``.
        """
        articles: Articles = []
        while questions > 0:
            if not articles or len(articles[-1][1]) == _PASSAGES_OF_AN_ARTICLE:
                title = self.languages[0].heading(rng.choice(NOUNS))
                articles.append((f"{title}_{len(articles) + 1}", []))
            passage = draw_passage(rng, languages, min(most, questions))
            questions -= len(passage.questions)
            articles[-1][1].append(passage)
        return articles

    def in_language(self, articles: Articles, language: Language) -> Told:
        """Tell the passages of ``articles`` in one language."""
        return [(title, [read_passage(language, one) for one in some]) for title, some in articles]

    def squad_file(
        self,
        name: str,
        contexts: Told,
        asked: Told,
        digits: int = 24,
        machine: Teller | None = None,
    ) -> str:
        """Return a file in SQuAD's layout, without questions whose answer stands twice.

        Args:
            name: from which ids are made; parallel files share it.
            contexts: articles in the language of the contexts.
            asked: the same articles in the language of the questions.
            digits: hexadecimal digits of an id.
            machine: randomness of a machine that misplaces some answers.
        """
        numbers = count(1)
        written = []
        for (title, told), (_, others) in zip(contexts, asked, strict=True):
            paragraphs = []
            for context, other in zip(told, others, strict=True):
                rows = []
                for question, answer in zip(other.questions, context.answers, strict=True):
                    key = hashlib.sha256(f"{name}-{next(numbers)}".encode()).hexdigest()[:digits]
                    shift = machine is not None and machine.random() < _MISPLACED
                    if context.holds_once(answer):
                        found = (answer.text, answer.start + shift)
                        rows.append(formats.asked(key, question, [found]))
                if rows:
                    paragraphs.append((context.text, rows))
            written.append((title, paragraphs))
        return formats.squad_json(written)

    def squad(self) -> Files:
        """Yield SQuAD in English, and its translation in the languages that MLQA has it in."""
        english = self.languages[:1]
        others = [language for language in self.languages[1:] if language.code in _MLQA]
        splits = {
            split: self.articles(self.rng("squad", split), english, size)
            for split, size in (("train", self.sizes.qa_train), ("dev", self.sizes.qa_test))
        }
        for split, articles in splits.items():
            told = self.in_language(articles, english[0])
            yield f"squad/{split}-v1.1.json", self.squad_file(f"squad-{split}", told, told)
        members: Members = {}
        for language in track(others, "miniature: translated questions"):
            for split, articles in splits.items():
                name, told = f"squad-{split}", self.in_language(articles, language)
                machine = self.rng(name, "translated", language.code)
                file = f"{language.code}_squad-translate-train-{split}-v1.1.json"
                text = self.squad_file(name, told, told, machine=machine)
                members[f"mlqa-translate-train/{file}"] = text
        if members:
            yield "mlqa/mlqa-translate-train.tar.gz", members

    def xquad(self) -> Files:
        """Yield XQuAD: the same passages and questions in all languages."""
        articles = self.articles(self.rng("xquad"), self.languages, self.sizes.qa_test)
        for language in track(self.languages, "miniature: parallel questions"):
            told = self.in_language(articles, language)
            yield f"xquad/xquad.{language.code}.json", self.squad_file("xquad", told, told)

    def mlqa(self) -> Files:
        """Yield MLQA: a file for each pair of languages of context and question."""
        members: Members = {}
        everyone = [language for language in self.languages if language.code in _MLQA]
        test = self.sizes.qa_test
        for split, size in (("dev", (test + 1) // 2), ("test", test)):
            articles = self.articles(self.rng("mlqa", split), everyone, size, 1)
            told = {one.code: self.in_language(articles, one) for one in everyone}
            for context, contexts in told.items():
                for question, questions in told.items():
                    file = f"MLQA_V1/{split}/{split}-context-{context}-question-{question}.json"
                    members[file] = self.squad_file(f"mlqa-{split}", contexts, questions, 40)
        yield "mlqa/MLQA_V1.zip", members

    def tydiqa(self) -> Files:
        """Yield the gold passages of TyDi QA's dev set: each language has its own."""
        written = []
        for language in (language for language in self.languages if language.code in _TYDIQA):
            rng = self.rng("tydiqa", language.code)
            for _ in range(self.sizes.qa_test):
                reading = read_passage(language, draw_passage(rng, [language], 1))
                answers = [reading.answers[0], reading.phrases[0]][: rng.randint(1, 2)]
                key = f"{_TYDIQA[language.code]}-{rng.getrandbits(63)}-{rng.randrange(100)}"
                row = formats.asked(key, reading.questions[0], answers)
                written.append((language.heading(rng.choice(NOUNS)), [(reading.text, [row])]))
        yield "tydiqa/tydiqa-goldp-v1.1-dev.json", formats.squad_json(written)

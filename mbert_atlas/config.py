"""The config as pydantic models: every key described, unknown keys refused.

``mbert_atlas.config_files`` writes these descriptions into the files of ``config/``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from mbert_atlas.config_checks import check_config
from mbert_atlas.config_families import completed, spread
from mbert_atlas.miniature.sizes import MiniatureSizes
from mbert_atlas.specifications import (
    Adjustment,
    Extension,
    LanguageConfusion,
    MaskedTraining,
    Optimisation,
    Pretraining,
    Probe,
    Replay,
    Selection,
)

Protocol = Literal["published", "corrected"]
PROTOCOLS: tuple[Protocol, ...] = ("published", "corrected")
Condition = Literal["initial", "fine_tuned", "gradient_reversal", "entropy_maximisation"]
_Positive = Annotated[float, Field(gt=0)]
_Share = Annotated[float, Field(gt=0, lt=1)]
_Count = Annotated[int, Field(ge=1)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Miniature(_Model):
    """The generated little world that stands in for every upstream source."""

    languages: list[str] = Field(description="Languages to write; English is always one of them.")
    seed: int = Field(1, description="Seed of the grammar; the same seed gives the same bytes.")
    sizes: MiniatureSizes = Field(
        default_factory=MiniatureSizes, description="How much of each format is written."
    )


class Source(_Model):
    """One upstream file and how to read it."""

    path: str = Field(
        description="Path in the mirror layout; may hold {language}, {wiki}, {pair}, {iso639_3}, "
        "{ntrex}, {tatoeba}, {ud_name}, {ud_code}."
    )
    format: str | None = Field(None, description="Reader; none takes the dataset's format.")
    partners: list[str] = Field(
        [],
        description="Files that belong to it: other side of a line-parallel pair, labels, links.",
    )
    limit: int | None = Field(None, ge=1, description="bitext: keep at most this many pairs.")


_WITH_SPLITS = ("nli", "universal_dependencies", "named_entities", "question_answering")
_MADE = ("nli", "question_answering", "bitext")
_ONE_FILE = ("wikipedia", "nli", "named_entities", "question_answering")


class Dataset(_Model):
    """An upstream corpus made into tidy Parquet, or a set sampled from another one."""

    corpus: Literal[
        "wikipedia",
        "plain_text",
        "bitext",
        "gold_alignment",
        "universal_dependencies",
        "nli",
        "named_entities",
        "question_answering",
        "language_identification",
    ] = Field(description="Kind of corpus; it decides the reader and the columns.")
    format: str | None = Field(None, description="Upstream format, where a corpus has several.")
    split: Literal["train", "validation", "dev", "test"] | None = Field(
        None, description="Which upstream split to read, where a corpus has several."
    )
    languages: list[str] = Field(description="Language codes, rows of resources/languages.csv.")
    files: str | None = Field(
        None, description="Upstream path for every language, with placeholders."
    )
    files_by_language: dict[str, list[Source]] | None = Field(
        None, description="Upstream files of single languages; they win over `files`."
    )
    limit: int | None = Field(None, ge=1, description="Keep at most this many items per language.")
    minimum_characters: int = Field(
        100, ge=1, description="Shortest Wikipedia paragraph that is kept (tanti2021)."
    )
    made_from: str | None = Field(
        None,
        description="Dataset of the same kind that this one is made from. nli: one side of each "
        "pair becomes English (efimov2022); question_answering: see `questions`; bitext: words "
        "become the pieces of `encoder`.",
    )
    questions: Literal["same", "target", "english"] = Field(
        "same",
        description="question_answering: questions in the language of the paragraphs; or in the "
        "target language about English paragraphs; or in English about the target's.",
    )
    sample_seed: int | None = Field(
        None,
        description="named_entities, question_answering: seed of a random sample of `limit` items; "
        "none takes the first.",
    )
    paragraphs: str | None = Field(
        None, description="language_identification: the dataset to sample paragraphs from."
    )
    encoder: str | None = Field(
        None,
        description="language_identification: paragraphs with [UNK] under its vocabulary go out; "
        "bitext: see `made_from`.",
    )
    fractions: tuple[float, float, float, float] = Field(
        (0.7, 0.1, 0.1, 0.1),
        description="language_identification: shares of train, validation, dev and test.",
    )
    minimum_per_language: int = Field(
        10, ge=1, description="language_identification: fewer paragraphs in a language: an error."
    )
    seed: int = Field(
        0,
        description="language_identification: seed of the sample; inference made from another: of "
        "the side that stays English. See also `sample_seed`.",
    )

    @model_validator(mode="after")
    def _has_input(self) -> Dataset:
        given = self.files is not None or self.files_by_language is not None
        sampled = self.corpus == "language_identification" and not given
        if sampled and not (self.paragraphs and self.encoder):
            raise ValueError(
                "language_identification needs `paragraphs` and `encoder`, or the released `files`"
            )
        if self.paragraphs and not sampled:
            raise ValueError("`paragraphs` are for language_identification without `files`")
        if self.made_from and (given or self.corpus not in _MADE):
            raise ValueError(f"`made_from` is for {', '.join(_MADE)}, without files")
        if self.made_from and self.corpus == "bitext" and not self.encoder:
            raise ValueError("a bitext made from another needs `encoder`, whose pieces it takes")
        if self.made_from and self.corpus == "question_answering" and self.questions == "same":
            raise ValueError("`made_from` needs `questions: target` or `questions: english`")
        if not (sampled or self.made_from or given):
            raise ValueError("give `files` or `files_by_language`")
        if self.corpus in _WITH_SPLITS and self.split is None and not self.made_from:
            raise ValueError(f"{self.corpus} needs `split`")
        if sum(Fraction(str(share)) for share in self.fractions) != 1 or min(self.fractions) < 0:
            raise ValueError(f"`fractions` are shares that sum to 1, not {list(self.fractions)}")
        released = self.corpus == "language_identification" and given
        if self.limit and (released or self.corpus in ("wikipedia", "gold_alignment")):
            raise ValueError(f"{self.corpus} is read whole: drop `limit`")
        for language, sources in (self.files_by_language or {}).items():
            if self.corpus in _ONE_FILE and len(sources) > 1:
                raise ValueError(f"{self.corpus} takes one file, not {len(sources)} ({language})")
            if self.corpus != "bitext" and any(source.limit for source in sources):
                raise ValueError(f"only a bitext has a `limit` per file ({language})")
        return self


class Encoding(_Model):
    """How a task's examples become token ids."""

    task: Literal[
        "inference", "tagging", "named_entities", "question_answering", "language_identification"
    ] = Field(description="The task whose examples are encoded.")
    max_length: int = Field(128, ge=8, description="Longest example in pieces, specials included.")
    segment_ids: bool = Field(
        True, description="inference: mark the second text by token type 1 (false: all zero)."
    )
    drop_unknown: bool = Field(False, description="Leave out examples with [UNK] (tanti2021).")
    labelled_pieces: Literal["first", "non_continuation"] = Field(
        "first", description="tagging, named_entities: which pieces of a word carry its label."
    )
    unit: Literal["text", "token"] = Field(
        "text", description="language_identification: what has a language."
    )
    doc_stride: int = Field(
        128, ge=1, description="question_answering: pieces by which windows overlap (or advance)."
    )
    stride_is: Literal["overlap", "step"] = Field(
        "overlap",
        description="question_answering: whether windows overlap or advance by `doc_stride`.",
    )


class Hub(_Model):
    """An encoder on the Hugging Face hub, pinned."""

    repository: str = Field(description="Repository id.")
    revision: str = Field(description="Commit hash.")


class Scratch(_Model):
    """An encoder pretrained by the workflow."""

    texts: list[str] = Field(description="Datasets (wikipedia or plain_text) to learn from.")
    pretraining: Pretraining = Field(description="Size and training of the encoder.")
    seed: int = Field(1, description="Seed of the initial weights, masks and batches.")


class Extended(_Model):
    """An encoder with more word pieces, pretrained further (Wang et al. 2020, EmBERT)."""

    encoder: str = Field(description="The encoder to extend.")
    texts: list[str] = Field(
        min_length=1, description="Datasets (wikipedia or plain_text) to learn from."
    )
    languages: list[str] = Field(
        min_length=1, description="Which of their languages to learn from; each dataset has them."
    )
    extension: Extension = Field(
        default_factory=Extension, description="Which pieces are new, and their first embeddings."
    )
    training: MaskedTraining = Field(
        default_factory=MaskedTraining, description="The pretraining that follows."
    )
    seed: int = Field(1, description="Seed of the new embeddings, masks and batches.")


class Encoder(_Model):
    """Where an encoder comes from: exactly one of hub, folder, scratch and extended."""

    hub: Hub | None = Field(None, description="Hub repository at a pinned revision.")
    folder: str | None = Field(None, description="Local folder with safetensors and a tokenizer.")
    scratch: Scratch | None = Field(None, description="Pretrain from scratch.")
    extended: Extended | None = Field(None, description="Extend another encoder's vocabulary.")

    @model_validator(mode="after")
    def _one_source(self) -> Encoder:
        sources = ("hub", "folder", "scratch", "extended")
        given = [name for name in sources if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"give exactly one of {', '.join(sources)} (found {', '.join(given) or 'none'})"
            )
        return self


class Head(_Model):
    """The classifier on top of the encoder."""

    dropout: float = Field(0.1, ge=0, lt=1, description="Dropout before the linear layer.")
    initial_stddev: float | None = Field(
        None, gt=0, description="Standard deviation of its initial weights; none takes BERT's .02."
    )


LayerRange = Annotated[str, Field(pattern=r"^(embeddings|\d+-\d+)$")]


class Finetuning(_Model):
    """Hyperparameters of one fine-tuning under one protocol."""

    optimisation: Optimisation = Field(
        default_factory=Optimisation, description="Optimiser, schedule, batches."
    )
    head: Head = Field(default_factory=Head, description="The classifier.")
    replay: Replay | None = Field(
        None,
        description="Alignment replayed at each step (efimov2022, Eq. 2); the run then starts from "
        "an adjustment, whose sentences come again.",
    )
    trained_layers: Literal["all", "none"] | list[LayerRange] = Field(
        "all",
        description="What learns of the encoder: all; none; or a list of `embeddings` and ranges "
        "of Transformer layers, from 1, such as `7-12` (with the pooler). The classifier learns.",
    )
    selection: Selection | None = Field(
        None, description="Keep the best epoch by this score; none: the last."
    )
    confusion: LanguageConfusion | None = Field(
        None, description="Unlearn the language of `language_data` on the way (tanti2021)."
    )


class EncodedDataset(_Model):
    """A dataset under an encoding."""

    dataset: str = Field(description="One of `datasets`.")
    encoding: str = Field(description="One of `encodings`.")


class _RunFamily(_Model):
    like: str | None = Field(
        None,
        description="Another family that this one is like but for the keys given here; within "
        "`published` and `corrected` key by key, and `published` counts for both.",
    )
    paper: str = Field(description="Paper that the cost of these runs is booked on.")
    encoder: str | None = Field(
        None, description="An encoder, or another family of runs to start from."
    )
    encoders: list[str] | None = Field(
        None,
        description="Several of them, each for a family of its own: `*` in the family's name "
        "stands for the encoder.",
    )
    languages: list[str] | None = Field(
        None,
        description="One run per language; none: as the family it starts from, or one run for all.",
    )
    seeds: list[int] | None = Field(None, description="Seeds; none takes the top-level list.")

    @model_validator(mode="after")
    def _one_way_to_start(self) -> _RunFamily:
        if (self.encoder is None) == (self.encoders is None):
            raise ValueError("give one of `encoder` and `encoders`")
        return self


class AdjustmentRuns(_RunFamily):
    """Cross-lingual adjustment of an encoder (efimov2022, Eq. 1)."""

    kind: Literal["adjustment"] = Field(description="Kind of runs.")
    languages: list[str] = Field(min_length=1, description="One run per language of the bitext.")
    bitext: str = Field(description="Bitext dataset whose word pairs are pulled together.")
    published: Adjustment = Field(description="What the authors' code does.")
    corrected: Adjustment | None = Field(
        None,
        description="What the equations and good practice ask, as far as it differs from "
        "`published`; none: the same.",
    )


class FinetuningRuns(_RunFamily):
    """Fine-tuning on a task and predictions on its test sets."""

    kind: Literal["finetuning"] = Field(description="Kind of runs.")
    encoding: str = Field(description="One of `encodings`.")
    train: str = Field(description="Dataset to train on.")
    train_languages: list[str] | None = Field(
        None, description="Which of its languages, {language} being the run's own; none: all."
    )
    evaluate: dict[str, list[str]] = Field(
        description="Datasets to predict, each with its languages. {language} is the run's own; a "
        "dataset that lacks it is left out."
    )
    language_data: EncodedDataset | None = Field(
        None, description="Texts whose language is unlearned, see `confusion`."
    )
    published: Finetuning = Field(
        default_factory=Finetuning, description="What the authors' code does."
    )
    corrected: Finetuning | None = Field(
        None,
        description="What good practice asks, as far as it differs from `published`; none: the "
        "same.",
    )


Runs = Annotated[AdjustmentRuns | FinetuningRuns, Field(discriminator="kind")]


class Alignment(_Model):
    """Word alignment of the bitexts."""

    backend: Literal["numpy", "systran", "fast_align"] = Field(
        "numpy",
        description="fast_align's model: our own code, the wheel systran-align, or the binary "
        "fast_align on PATH; all but a few links in 10,000 are the same.",
    )
    symmetrisation: Literal["intersection", "one_to_one", "union"] = Field(
        "intersection", description="Which links of the two directions are kept."
    )
    maximum_words: int = Field(
        64, ge=1, description="Longest sentence on either side (authors' loader)."
    )
    drop_identical: bool = Field(
        True, description="Drop word pairs with the same spelling on both sides (authors' loader)."
    )
    held_out: int = Field(
        5000, ge=1, description="Sentences per language kept out of adjustment, for histograms."
    )
    maximum_length: int = Field(128, ge=8, description="Longest sentence in pieces.")
    gold: dict[str, str] = Field(
        default_factory=dict,
        description="For a bitext dataset, the gold_alignment dataset that scores its alignment.",
    )


class Resources(_Model):
    """What one job of a rule asks for on its first attempt; memory and time grow on each retry."""

    threads: int = Field(1, ge=1, description="CPU threads.")
    mem_mb: int = Field(2000, ge=100, description="Memory in MB.")
    runtime: int = Field(30, ge=1, description="Time limit in minutes.")
    gpu: int = Field(0, ge=0, description="GPUs; the same code runs on the CPU without one.")


class TransferTest(_Model):
    """One test set of a table of zero-shot transfer."""

    dataset: str = Field(description="Dataset that was predicted.")
    runs: str = Field(description="What {runs} stands for in the names of families.")
    languages: list[str] | None = Field(
        None, description="Target languages, if not the table's; the dataset's among them count."
    )
    conditions: dict[str, str | None] | None = Field(
        None, description="Conditions, if not the table's."
    )
    normalisation: Literal["squad", "mlqa"] = Field(
        "squad",
        description="question_answering: how `corrected` compares answers; `published` always as "
        "SQuAD does.",
    )


class TransferTable(_Model):
    """A table of scores by condition and target language (Tables 2 to 9)."""

    model: str = Field("mbert", description="Encoder before adjustment, as reported.")
    languages: list[str] = Field(description="Target languages.")
    tests: dict[str, TransferTest] = Field(
        description="Test sets by their name in the reported numbers."
    )
    conditions: dict[str, str | None] = Field(
        description="Condition, and the family of runs that shows it; {runs} is the test's. "
        "family/language takes a run that is not the target's; none leaves a condition out."
    )
    against: dict[str, str] = Field(
        default_factory=dict,
        description="Which condition each condition is tested against.",
    )
    gains_over: Literal["original"] | None = Field(
        None, description="The table shows gains over this condition; none: scores."
    )


class Histograms(_Model):
    """A figure of distances between words."""

    languages: list[str] = Field(description="Target languages.")
    panels: dict[str, str] = Field(
        description="Panels: name, and the encoder or family of runs that it shows."
    )


class Efimov2022(_Model):
    """Efimov et al., cross-lingual adjustment."""

    model: str = Field("mbert", description="Encoder of the figures before adjustment.")
    bitext: str = Field("wikimatrix", description="Bitext dataset of the pairs in the figures.")
    pairs: int = Field(10000, ge=10, description="Related, and as many unrelated, word pairs.")
    figures: dict[str, Histograms] = Field(description="Figures 1 and 2.")
    pages: str = Field(description="Wikipedia dataset whose articles Table 1 counts.")
    languages: list[str] = Field(description="Languages of Table 1.")
    tables: dict[str, TransferTable] = Field(description="Tables 2 to 9.")


class LanguageTask(_Model):
    """A target task of tanti2021, and what is measured of the language in its encoders."""

    test: str = Field(description="Test set of the task; its languages are identified, too.")
    dev: dict[str, list[str]] = Field(
        description="Development sets that choose hyperparameters, each with its languages. The "
        "authors take all languages, so that transfer is not strictly zero-shot."
    )
    wikipedia: EncodedDataset = Field(
        description="Texts that language identification is trained and tested on."
    )
    pooling: Literal["pooler", "mean", "cls"] = Field(
        "pooler", description="How a text becomes one vector; tokens have their own."
    )
    points: int = Field(ge=1, description="Points per language and label in samples (App. B).")
    conditions: dict[Condition, str] = Field(
        description="Condition, and the family of fine-tuning runs behind it."
    )


class SearchSpace(_Model):
    """Values that random search draws from (Table 4)."""

    initial_stddev: list[_Positive] = Field(
        min_length=1, description="Of the classifiers' weights."
    )
    batch_size: list[_Count] = Field(min_length=1, description="Examples in one step.")
    head_learning_rate: list[_Positive] = Field(
        min_length=1, description="Rate of the classifiers."
    )
    learning_rate: list[_Positive] = Field(min_length=1, description="Rate of the encoder.")
    gradient_reversal: list[_Share] = Field(min_length=1, description="Its lambda.")
    entropy_maximisation: list[_Share] = Field(min_length=1, description="Its w in Eq. 1.")


class Search(_Model):
    """Random search for hyperparameters (appendix D, Tables 4 and 5)."""

    use: Literal["reported", "chosen"] = Field(
        "reported",
        description="Hyperparameters of the final runs: those in `runs` (in the paper preset "
        "Table 5's), so that only Table 5 itself waits for the search; or those it chooses.",
    )
    draws: int = Field(
        20, ge=0, description="Different draws per experiment; 0 leaves out search and Table 5."
    )
    seed: int = Field(0, description="Seed of the draws.")
    training_seed: int = Field(
        0,
        description="Seed that every draw is trained with; if no run has it, none repeats a draw.",
    )
    space: SearchSpace = Field(description="Values to draw from.")

    @model_validator(mode="after")
    def _draws_what_it_uses(self) -> Search:
        if self.use == "chosen" and not self.draws:
            raise ValueError("`use: chosen` needs draws")
        return self


class Tanti2021(_Model):
    """Tanti et al., language-specificity."""

    model: str = Field("mbert", description="The encoder of all its runs.")
    tasks: dict[Literal["udpos", "xnli"], LanguageTask] = Field(
        description="Target tasks with their experiments."
    )
    points_per_language: int = Field(
        100, ge=2, description="Wikipedia texts of each language in samples (App. B)."
    )
    language_clusters: int = Field(
        33, ge=2, description="Clusters of the V-measure of languages as published."
    )
    perplexity: float = Field(30.0, gt=0, description="Perplexity of the t-SNE.")
    probe: Probe = Field(
        description="Language identification as corrected; as published it is Adam's with the "
        "hyperparameters of the run (appendix D)."
    )
    search: Search = Field(description="Random search for hyperparameters.")


class Config(_Model):
    """Everything a preset decides."""

    run: str = Field(
        "paper", pattern=r"^[A-Za-z0-9_-]+$", description="Results go to results/<run>."
    )
    comparable: bool = Field(
        True, description="Whether the numbers may be read beside the papers' (data, encoder)."
    )
    mirror: str | None = Field(None, description="Folder that every fetch looks in first.")
    downloads: str = Field("resources/downloads", description="Where fetched files go.")
    offline: bool = Field(False, description="Never use the network; name all missing files.")
    seeds: list[int] = Field([1, 2, 3, 4, 5], min_length=1, description="Seeds of every run.")
    papers: list[str] = Field(
        ["efimov2022", "tanti2021"], description="Papers whose artifacts `all` makes."
    )
    miniature: Miniature | None = Field(
        None, description="Generate the data instead of fetching it (demo)."
    )
    datasets: dict[str, Dataset] = Field(description="Corpora by name.")
    alignment: Alignment = Field(default_factory=Alignment, description="Word alignment.")
    encoders: dict[str, Encoder] = Field(description="Encoders by name.")
    encodings: dict[str, Encoding] = Field(description="Ways to turn examples into token ids.")
    runs: dict[str, Runs] = Field(default_factory=dict, description="Families of training runs.")
    efimov2022: Efimov2022 = Field(description="Artifacts of efimov2022.")
    tanti2021: Tanti2021 = Field(description="Artifacts of tanti2021.")
    resources: dict[str, Resources] = Field(
        default_factory=dict, description="What the jobs of a rule ask for."
    )

    @field_validator("seeds")
    @classmethod
    def _distinct(cls, seeds: list[int]) -> list[int]:
        if len(set(seeds)) != len(seeds):
            raise ValueError("the same seed twice")
        return seeds

    @field_validator("runs", mode="before")
    @classmethod
    def _like_others(cls, runs: Any) -> Any:
        return completed(runs)

    @field_validator("runs")
    @classmethod
    def _one_family_per_encoder(cls, runs: dict[str, Runs]) -> dict[str, Runs]:
        return spread(runs)

    @model_validator(mode="after")
    def _fits_together(self, info: ValidationInfo) -> Config:
        check_config(self, (info.context or {}).get("languages") or ())
        return self

"""The paper's section of the config, its checks, and what it needs of encoders."""

from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from mbert_atlas.config import references as ref
from mbert_atlas.config.base import ConfigModel, Protocol
from mbert_atlas.config.mistakes import Mistake, check_name, report
from mbert_atlas.plan.needs import Need, deepest_layer

Model = Literal["mbert", "xlmr"]
TaskName = Literal["pos", "ner"]
Probe = Literal["identification", "typology", "similarity"]
Method = Literal["densray", "lda"]
Source = Literal["en", "en+de+zh"]
Dims = Annotated[int, Field(ge=1)]


class Tokens(ConfigModel):
    """The tokens behind directions and probes."""

    texts: dict[Model, ref.LanguageTexts]
    """Running texts of the languages of each encoder."""
    encoding: ref.TextEncoding = Field(description="Encoding of these texts.")
    summed: int = Field(10000, ge=2, description="Tokens per language behind the directions.")
    probed: int = Field(10000, ge=2, description="Other tokens per language, for the probes.")
    languages_per_job: int = Field(8, ge=1, description="Languages per job.")


class Probing(ConfigModel):
    """Probes of windows of the projected space (Figures 1 to 3 and 5)."""

    sizes: list[Dims] = Field(description="x of Figure 1.")
    width: int = Field(10, ge=1, description="Dimensions of a window of Figure 2.")
    random_from: int = Field(105, ge=0)
    """published: random windows of Figure 2 begin at this dimension or later: one more than the
    number of languages."""
    by_layer: dict[Probe, Dims] = Field(description="x of Figure 3.")
    tokens: int = Field(5000, ge=10, description="Tokens per language, for identification.")
    typology_tokens: int = Field(1000, ge=10, description="Tokens per language, for typology.")
    pairs: dict[Protocol, Dims | None]
    """Number of sampled pairs of languages; none: all."""
    layer_pairs: dict[Protocol, Dims | None]
    """The same in Figure 3."""
    turns: int = Field(3, ge=1, description="corrected: random rotations of the space.")
    seeds: int | None = Field(None, ge=1, description="Number of seeds; none: all.")


class Pairs(ConfigModel):
    """Figure 5: language identification within sets of languages."""

    sets: dict[str, list[str] | None]
    """Sets of languages by name; null drops one."""
    sampled: int | None = Field(10, ge=2)
    """Languages of the set `random`, sampled for each seed; none: no such set."""
    width: int = Field(2, ge=1, description="Dimensions of a window.")
    windows: int = Field(16, ge=1)
    """Number of windows, which begin at the dimensions 0, 1, 2, ..."""
    random_from: int = Field(12, ge=0)
    """published: random windows begin at this dimension or later: two more than the number of
    languages."""
    tokens: int = Field(10000, ge=10, description="Tokens per language.")


class Removal(ConfigModel):
    """Figure 4: POS and NER without the first directions."""

    datasets: dict[TaskName, tuple[ref.DatasetName, ref.DatasetName]]
    """Frozen: training and test words."""
    firsts: list[Annotated[int, Field(ge=0)]]
    """Frozen: numbers of removed directions; 0 first."""
    tuned: dict[TaskName, dict[Method, list[Dims]]]
    """Fine-tuned: numbers, as in the families <baseline>-<method>-<number>."""
    maximum_vectors: int = Field(50000, ge=10, description="Frozen: most training words.")


class Transfer(ConfigModel):
    """Transfer with L-DAR and its baselines (Tables 1 to 6)."""

    runs: dict[TaskName, dict[Source, str | None]]
    """Families of the baselines by training language; those of L-DAR add -l-dar or -l-dar-<layers>;
    null drops one."""
    datasets: dict[TaskName, ref.DatasetName] = Field(description="Test sets.")
    layers: dict[TaskName, dict[Source, list[str]]]
    """Sets of layers of Table 6."""
    controls: dict[TaskName, list[Source]] = Field({})
    """Where L-DAR also preserves random directions, as a control: in families -l-dar-random."""

    def families(self, task: TaskName, source: Source) -> dict[str, tuple[str, str]]:
        """Return the families of a baseline and of L-DAR: condition, set of layers; empty: all."""
        baseline = self.runs.get(task, {}).get(source)
        if not baseline:
            return {}
        sets = self.layers.get(task, {}).get(source, [])
        whole = {baseline: ("baseline", ""), f"{baseline}-l-dar": ("l_dar", "")}
        if source in self.controls.get(task, []):
            whole[f"{baseline}-l-dar-random"] = "l_dar_random", ""
        return whole | {f"{baseline}-l-dar-{some}": ("l_dar", some) for some in sets}


class Section(ConfigModel):
    """What the artifacts of the paper need."""

    encoders: dict[Model, ref.EncoderName]
    """The encoders by the names of the paper."""
    layers: int = Field(12, ge=1, description="Layers of these encoders.")
    tokens: Tokens = Field(description="Token vectors behind Figures 1 to 5.")
    typology: Annotated[str, ref.corpus("typology")] = Field(description="Typological features.")
    probing: Probing = Field(description="Figures 1 to 3.")
    pairs: Pairs = Field(description="Figure 5.")
    removal: Removal = Field(description="Figure 4.")
    transfer: Transfer = Field(description="Tables 1 to 6.")


def check(config: Any) -> None:
    """Report what the artifacts need and the rest of the config lacks."""
    paper: Section = config.liang2021
    at, texts, transfer = "liang2021", paper.tokens.texts, paper.transfer
    check_name(f"{at}.encoders", "mbert", paper.encoders, " there; Figure 5 is about it")
    for model, encoder in paper.encoders.items():
        check_name(f"{at}.tokens.texts", model, texts, " there")
        others = [other for other, name in paper.encoders.items() if name == encoder]
        if model != others[0]:
            problem = f"{encoder!r} is that of {others[0]}, too"
            report(Mistake(f"{at}.encoders.{model}", problem, "name another one, or null"))
    for name, languages in paper.pairs.sets.items():
        ref.check_file_name(f"{at}.pairs.sets.{name}", name)
        if name == "all" or name.startswith("random"):
            problem = f"{name!r} is another set: all languages, or a sample of them"
            report(Mistake(f"{at}.pairs.sets.{name}", problem, "give it another name"))
        ref.check_languages(config, f"{at}.pairs.sets.{name}", languages, texts["mbert"])
    if dataset := config.datasets.get(texts["mbert"]):
        count = len(dataset.languages)
        if (paper.pairs.sampled or 0) > count:
            fix = f"sample at most {count}, the languages of {texts['mbert']}"
            report(Mistake(f"{at}.pairs.sampled", "there are fewer languages", fix))
    for probe in get_args(Probe):
        check_name(f"{at}.probing.by_layer", probe, paper.probing.by_layer, " there")
    tuned = [task for task, methods in paper.removal.tuned.items() if any(methods.values())]
    for key, tasks in (("datasets", [*paper.removal.datasets]), ("tuned", tuned)):
        for task in tasks:
            if transfer.runs.get(task, {}).get("en") is None:
                missing = f"needs liang2021.transfer.runs.{task}.en, which is null"
                report(Mistake(f"{at}.removal.{key}.{task}", missing, "set this to null, too"))
    if paper.removal.firsts[:1] != [0]:
        problem = f"{paper.removal.firsts} lacks the whole space"
        fix = "begin with 0, whose score the others are compared with"
        report(Mistake(f"{at}.removal.firsts", problem, fix))
    for task, families in transfer.runs.items():
        check_name(f"{at}.transfer.datasets", task, transfer.datasets, " there")
        for source, family in families.items():
            place = f"{at}.transfer.runs.{task}.{source}"
            needed = [*transfer.families(task, source)]
            if family and source == "en":
                methods = paper.removal.tuned.get(task, {}).items()
                needed += [f"{family}-{method}-{n}" for method, firsts in methods for n in firsts]
            for name in needed:
                ref.FINETUNING.check(config, place, name)
            if family and (test := transfer.datasets.get(task)):
                ref.check_predicted(config, place, family, test)


def needs_of(config: Any) -> dict[str, list[Need]]:
    """Return the needs by artifact."""
    paper: Section = config.liang2021
    probed = {
        model: Need(encoder, "layers", "liang2021.layers", paper.layers)
        for model, encoder in paper.encoders.items()
    }
    needs = {f"figure{number}": [*probed.values()] for number in range(1, 5)}
    needs["figure5"] = [probed["mbert"]]
    whole, some = list[Need](), list[Need]()  # of L-DAR on all layers, and on some
    for task, families in paper.transfer.runs.items():
        for source in families:
            held = paper.transfer.families(task, source)
            for name, (condition, layers) in held.items():
                if condition == "baseline":
                    continue
                key = f"runs.{name}.published.language_subspace.last_layer"
                need = Need(ref.base_of(config, name), "layer", key, deepest_layer(config, [name]))
                (some if layers else whole).append(need)
    tables = dict.fromkeys((f"table{number}" for number in range(1, 6)), whole)
    return needs | tables | {"table6": [*whole, *some]}

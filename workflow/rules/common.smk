# What the rules share: the validated config, the tables of runs and languages, what papers register.
# paths.smk says where everything lies, shown.smk what pages show.

import json
import re
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from mbert_atlas import papers
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.config.reading import BASE
from mbert_atlas.config.resources import Resources as Request  # Snakemake has Resources of its own
from mbert_atlas.encoders import shipping
from mbert_atlas.encoders.folders import check_folder
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import sha256_of
from mbert_atlas.fingerprint import fingerprints
from mbert_atlas.languages import Languages
from mbert_atlas.plan import datasets
from mbert_atlas.plan.runs import RunTable
from mbert_atlas.scorecard.claims import read_claims
from workflow.supervision import growth

RULE_FILES = (HOME / "workflow/rules").glob("*.smk")
ASKS = re.compile(r'request\("(\w+)"\)')
"""How a rule takes resources from the config; papers that are not read have such rules, too."""


FILES_BELOW = (
    [HOME / BASE, *papers.config_files(config, HOME)] if workflow.modifier.skip_configfile else []
)
"""What a module's own config is laid over; else Snakemake lists these files itself."""


def shipped_encoders():
    """The sha256 of the files of each encoder that is taken from the repository, not trained."""
    found = {}
    for name, encoder in CONFIG.encoders.items():
        if CONFIG.use_shipped and encoder.scratch and encoder.scratch.shipped:
            folder = HOME / encoder.scratch.shipped
            reason = shipping.why_train(folder, shipping.specification(CONFIG, name))
            if not reason:
                found[name] = shipping.require_whole(folder)
            elif workflow.is_main_process:
                logger.info(f"encoders.{name} is trained: {reason}.")
    return found


def claims_file(paper):
    """What a paper claims in words."""
    return at_home(f"mbert_atlas/papers/{paper}/claims.yaml")


def reported_file(paper):
    """The numbers that a paper reports."""
    return at_home(f"resources/reported/{paper}.csv")


def at_home(path):
    """The path of a file of the repository, for parameters."""
    return str(HOME / path)


try:
    LANGUAGES = Languages.read(HOME / "resources/languages.csv")
    # Snakemake lists the presets of the command line first, although they are laid over the others.
    presets = len(workflow.overwrite_configfiles)
    CONFIG = papers.read_config(
        config,
        [*FILES_BELOW, *workflow.configfiles[presets:], *workflow.configfiles[:presets]],
        languages=[item.code for item in LANGUAGES],
        rules={name for path in RULE_FILES for name in ASKS.findall(path.read_text())},
        typed=workflow.config_settings.config,
    )
    RUNS = RunTable(CONFIG)
    UPSTREAM = datasets.upstream_files(CONFIG, LANGUAGES)
    if workflow.is_main_process:  # and not again in every job
        for name in CONFIG.papers:
            read_claims(
                Path(claims_file(name)),
                name,
                Path(reported_file(name)),
                languages=[item.code for item in LANGUAGES],
            )
        for encoder in CONFIG.encoders.values():
            if encoder.folder:
                check_folder(Path(encoder.folder))
        if CONFIG.mirror and not Path(CONFIG.mirror).is_dir():
            raise DataError(
                "config", "key mirror", f"there is no folder {CONFIG.mirror}", "correct the path"
            )
    SHIPPED = shipped_encoders()
except AtlasError as error:
    raise WorkflowError(str(error)) from None

# Scripts that fetch read these as they were checked, not as they were typed.
config |= CONFIG.model_dump(include={"downloads", "mirror", "offline"})
if workflow.is_main_process and not (workflow.overwrite_configfiles or CONFIG.preset):
    logger.info(
        "No preset is given: this is the papers' own scale, with all their data and days of GPU time. "
        "For a first look: --configfile config/demo.yaml."
    )

RESULTS = f"results/{CONFIG.run}"
NOT_RUN = f"{RESULTS}/not_run.csv"
"""What the last run that failed has not made, and why."""
FINGERPRINTS = fingerprints(
    HOME.resolve() / "workflow/scripts", Path(".snakemake/fingerprints.json")
)


def request(rule_name):
    """What a job of a rule asks for."""
    return CONFIG.resources.get(rule_name, Request())


def memory(rule_name):
    """Memory in MB, more after an attempt that may have been short of it."""
    return lambda wildcards, attempt, rulename: (
        request(rule_name).mem_mb * growth("memory", rulename, wildcards, attempt)
    )


def minutes(rule_name):
    """Time limit in minutes, more after an attempt that ran into it."""
    return lambda wildcards, attempt, rulename: (
        request(rule_name).runtime * growth("time", rulename, wildcards, attempt)
    )


def code(script):
    """Fingerprint of a script and of the package modules it reaches; a parameter, so a trigger."""
    return FINGERPRINTS[script]


def datasets_of(corpus):
    """Regular expression for the names of the datasets of a kind that are made from upstream files."""
    return any_of(
        name for name, item in CONFIG.datasets.items() if item.corpus == corpus and not item.parent
    )


def derived_datasets(corpus):
    """Regular expression for the names of the datasets of a kind that are made from others."""
    return any_of(
        name for name, item in CONFIG.datasets.items() if item.corpus == corpus and item.parent
    )


def any_of(names):
    """Regular expression for any of these names; matches nothing if there are none."""
    return "|".join(names) or "(?!)"


def sampling(*options):
    """Parameter: some of the options of a sample of vectors."""
    return lambda wildcards: {name: SAMPLES[wildcards.features][name] for name in options}


def stages():
    """The stage of each rule that is measured, and the paper that pays if no path says."""
    return {
        item.name: (
            {"stage": "analysis", "paper": Path(item.snakefile).stem}
            if Path(item.snakefile).stem in ARTIFACTS
            else {"stage": Path(item.snakefile).stem}
        )
        for item in workflow.rules
        if item.benchmark
    }


def payers():
    """The paper that pays for a job by a part of its path."""
    return {
        **{paper: paper for paper in ARTIFACTS},
        **{
            f"{name}.{protocol}": family.paper
            for name, family in CONFIG.runs.items()
            for protocol in PROTOCOLS
        },
        **{run.id: run.paper for run in RUNS},
    }


def prediction():
    """The command that predicts `all` for the presets and the settings of this command line."""
    words = [sys.executable, at_home("workflow/predict.py"), "all"]
    for path in workflow.overwrite_configfiles:
        words += ["--configfile", str(path)]
    for key, value in workflow.config_settings.config.items():
        words += ["--config", f"{key}={json.dumps(value)}"]
    if workflow.local_exec:
        there = {name: item.value for name, item in workflow.global_resources.items()}
        words += ["--local", "--cores", str(there["_cores"]), "--gpus", str(there.get("gpu", 0))]
    else:
        words += ["--jobs", str(workflow.nodes)]
    return shlex.join(words)


def content(path):
    """Hash of a file of the repository.

    As a parameter it triggers by content; as an input, a fresh clone's file times would.
    """
    return sha256_of(path)


# What every paper's .smk registers with the shared rules. Keys are `paper/name`, but for the first two.
ARTIFACTS = {}  # by paper: target files by artifact
MEASUREMENTS = {}  # by paper: measurements for the scorecard
HIGHLIGHTS = {}  # by paper: the `artifacts` to be seen first, with their `measurements`
TABLES = (
    {}
)  # tables of numbers: their `measurements`, and `facts`, rows of texts before the numbers, or a file with them
TRANSFER = {}  # tables of scores by condition and language: a `TransferTable` of the config
PLOTS = {}  # measurements that are drawn by language and condition: the figure's title
ORDER = {}  # by paper: conditions of its figures that no number is reported of, for their colours
CONDITION_NAMES = {}  # of tables: what conditions are called where the config decides it
FEATURES = {}  # vectors: `stores` by name with `folder`, `splits`, `languages`; `pooling`, `layers`
PROBES = {}  # of some of these FEATURES: language identification as `corrected`
SAMPLES = {}  # of some of these FEATURES: how clusters and maps are made
SIMILARITIES = {}  # of some of these FEATURES: `pivots`, source languages; `stores`, by protocol
VECTORS = {}  # of running texts: `encoding`, `summed`, `probed` (tokens), `languages_per_job`
MEANS = {}  # of running texts: `encoding`, `texts`, how many of each language
LANGUAGE_SETS = {}  # of these texts: languages whose directions are wanted, by name
RETRIEVAL = {}  # dictionaries: the dataset of `texts`, and options of `find_word_contexts`
STATIC_RUNS = {}  # families of fine-tunings that static vectors learn as well: the network
DISTANCES = {}  # distances between words: `encoder`, `bitext`, `pairs`, `panels` by language


wildcard_constraints:
    seed=any_of(sorted({str(seed) for run in RUNS for seed in run.seeds})),
    language=r"[a-z_-]+",
    protocol="published|corrected",
    encoder=any_of(CONFIG.encoders),
    encoding=any_of(CONFIG.encodings),
    part="train|heldout",
    group=r"\d+",

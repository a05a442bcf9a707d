"""mbert-atlas: five papers on how multilingual BERT stores language, reproduced.

snakemake --profile local --cores 2 --configfile config/demo.yaml -- highlights  # a first look
snakemake --profile slurm all                                                    # paper scale
snakemake --profile slurm predict                                                # what that costs
snakemake --profile slurm PAPER_figure1                                          # one artifact
"""

import os
from pathlib import Path

from snakemake.utils import min_version

from mbert_atlas import papers

min_version("9.14")


# This folder as seen from where Snakemake runs, which is another one in a module of another workflow.
HOME = Path(workflow.current_basedir.get_path_or_uri(secret_free=False)).resolve()
HOME = Path(os.path.relpath(HOME))


include: "workflow/rules/start.smk"


configfile: HOME / "config/config.yaml"


for file in papers.config_files(config, HOME):

    configfile: file


report: "workflow/report/workflow.rst"


# With a config of its own, a module passes over the files above; here it is laid over them.
if workflow.modifier.skip_configfile:
    config = papers.completed(config, HOME)


include: "workflow/rules/common.smk"
include: "workflow/rules/paths.smk"
include: "workflow/rules/shown.smk"


pathvars:
    results=RESULTS,
    downloads=CONFIG.downloads,


for paper in CONFIG.papers:

    include: f"workflow/rules/{paper}.smk"


include: "workflow/rules/sources.smk"
include: "workflow/rules/corpora.smk"
include: "workflow/rules/alignment.smk"
include: "workflow/rules/encoders.smk"
include: "workflow/rules/static_vectors.smk"
include: "workflow/rules/training.smk"
include: "workflow/rules/representations.smk"
include: "workflow/rules/retrieval.smk"
include: "workflow/rules/analysis.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/scheduler.smk"
include: "workflow/rules/prediction.smk"


rule all:
    default_target: True
    input:
        shown_paths(""),
        "<results>/scorecard.html",
        "<results>/index.html",


rule highlights:
    input:
        shown_paths("highlights/"),
        "<results>/highlights/index.html",


check_targets()

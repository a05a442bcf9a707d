"""mbert-atlas: five papers on how multilingual BERT stores language, reproduced.

snakemake --profile local --cores 2 --configfile config/demo.yaml -- highlights  # a first look
snakemake --profile slurm all                                                    # paper scale
snakemake --profile slurm PAPER_figure1                                          # one artifact
"""

from snakemake.utils import min_version

from mbert_atlas import papers

min_version("9.14")


configfile: "config/config.yaml"


for file in papers.config_files(config):

    configfile: file


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"


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

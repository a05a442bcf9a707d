from workflow.job import set_up

LINKS = {
    "claims.html": "all claims with their verdicts, to sort, search and filter",
    "claims.csv": "all claims with their verdicts and effects",
    "scorecard.html": "all reported numbers next to those of this run",
    "scorecard.csv": "all reported numbers next to those of this run, and additional results",
    "training.html": "did it learn: loss and development score of all trainings",
    "cost.csv": "jobs, hours and memory by paper and stage",
    "alignment.html": "quality of the word alignment (AER)",
}

with set_up(snakemake):
    from mbert_atlas.scorecard.front import write_claims, write_index
    from mbert_atlas.scorecard.learning import families_of, write_training
    from mbert_atlas.scorecard.templates import figure_links
    from mbert_atlas.scorecard.verdicts import read_verdicts
    from workflow.pages import setting_of

    params, scope = snakemake.params, snakemake.wildcards.scope
    setting = setting_of(snakemake)
    missing = set() if snakemake.input.alignment else {"alignment.html"}
    if scope == "highlights/":
        missing |= {"scorecard.html", "scorecard.csv"}
    claims, library = read_verdicts(snakemake.input.claims), snakemake.input.library[0].parent
    output = snakemake.output
    families = families_of(setting.record)
    write_training(families, output.training, setting=setting, part=scope.rstrip("/"))
    write_claims(claims, output.claims, setting=setting, library=library)
    write_index(
        claims,
        output.index,
        titles=params.titles,
        setting=setting,
        figures=figure_links(params.figures, setting.names),
        links={name: text for name, text in LINKS.items() if name not in missing},
        root=library.parent,
        part=scope.rstrip("/"),
        families=families,
    )

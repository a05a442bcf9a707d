from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.files import read_json
    from mbert_atlas.scorecard.tables import write_tables
    from mbert_atlas.scorecard.templates import Setting, artifact_name
    from workflow.pages import compared

    params = snakemake.params
    setting = Setting(**params.setting)
    frame, contrasts = compared(snakemake)
    write_tables(
        frame[(frame["paper"] == params.paper) & (frame["artifact"] == params.artifact)],
        title=f"{artifact_name(params.artifact)} of {params.title}",
        labels=setting.labels(f"{params.paper}/{params.artifact}", contrasts[params.paper]),
        setting=setting,
        csv_path=snakemake.output.csv,
        html_path=snakemake.output.html,
        library=snakemake.input.library[0].parent,
        facts=read_json(snakemake.input.facts) if snakemake.input.facts else params.facts,
    )

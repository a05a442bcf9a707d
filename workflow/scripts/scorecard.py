from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.scorecard.cells import read_reasons, write_csv
    from mbert_atlas.scorecard.pages import write_page
    from mbert_atlas.scorecard.templates import figure_links
    from workflow.pages import compared, setting_of

    params, output = snakemake.params, snakemake.output
    setting = setting_of(snakemake)
    frame, contrasts = compared(snakemake)
    write_csv(frame, output.csv, digits=8)
    write_page(
        frame,
        output.html,
        setting=setting,
        titles=params.titles,
        contrasts=contrasts,
        library=snakemake.input.library[0].parent,
        figures=figure_links(params.figures, setting.names),
        reasons=read_reasons(reasons) if (reasons := snakemake.input.reasons) else {},
    )

from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    import pandas as pd

    from mbert_atlas.analysis.transfer import HEADLINES
    from mbert_atlas.figures.style import save_figure
    from mbert_atlas.figures.transfer import transfer_plot

    measured = pd.read_csv(snakemake.input[0], keep_default_na=False, na_values={"value": [""]})
    gains = measured["metric"] == "gain_over_original"
    shown = gains if gains.any() else measured["metric"].isin(HEADLINES.values())
    measured = measured[shown & (measured["target"] != "")]
    measured["task"] = measured["task"].map(test_name)
    columns = {"target": "language"}
    if gains.any():
        columns = {"task": "language"}
    elif measured["task"].nunique() > 1:
        columns["task"] = "test"
    values = measured.groupby("protocol")["value"].apply(lambda column: tuple(column))
    if values.nunique() == 1:  # one panel says it all
        measured = measured[measured["protocol"] == values.index[0]].assign(protocol="both")
    reported = None
    if snakemake.params.comparable:
        reported = pd.read_csv(snakemake.params.reported, keep_default_na=False)
        reported["task"] = reported["task"].map(test_name)
        keys = [tuple(row) for row in measured[["artifact", "task", "metric"]].to_numpy()]
        same = [tuple(row) in keys for row in reported[["artifact", "task", "metric"]].to_numpy()]
        reported = reported[same].rename(columns=columns)
    labels = {"accuracy": "accuracy (%)", "gain_over_original": "gain (points)"}
    metrics = list(dict.fromkeys(measured["metric"]))
    figure = transfer_plot(
        measured.rename(columns=columns).astype({"seed": int, "value": float}),
        reported,
        title=snakemake.params.title,
        value_label=labels.get(metrics[0], "F1 (%)") if len(metrics) == 1 else "accuracy, F1 (%)",
        names=snakemake.params.names,
    )
    save_figure(figure, Path(snakemake.output[0]).with_suffix(""))


NAMES = {
    "mlqa": "MLQA",
    "xquad": "XQuAD",
    "tydiqa": "TyDi QA",
    "xnli": "XNLI",
    "ner": "NER",
    "squad": "SQuAD",
    "question_target_paragraph_english": "questions in the target language, paragraphs in English",
    "question_english_paragraph_target": "questions in English, paragraphs in the target language",
    "mixed": "one side in English",
    "translated_squad": "tuned on translated SQuAD",
    "en": "English",
}


def test_name(task):
    """Return ``mlqa:qa_question_target_paragraph_english`` in words."""
    parts = task.replace(":qa", "").split("_", 1)
    return ": ".join(NAMES.get(part, part.replace("_", " ")) for part in parts)


run(main, snakemake)

"""Fine-tune an encoder on a task and write its model folder and its predictions."""

from collections.abc import Sequence
from itertools import chain

import pyarrow as pa

from mbert_atlas.encoders.trimming import trim
from mbert_atlas.files import write_parquet
from mbert_atlas.tasks.base import save_model
from mbert_atlas.training.curve import write_curve
from mbert_atlas.training.job import FinetuningJob, FinetuningRun, store_digest
from mbert_atlas.training.loop import train
from mbert_atlas.training.method import Method, TrainingLog
from mbert_atlas.training.prediction import predict
from mbert_atlas.training.trimming import restore_words


def finetune(job: FinetuningJob, methods: Sequence[Method] = ()) -> TrainingLog:
    """Fine-tune, predict, write; an interrupted run resumes from its state, which is kept.

    Raises a DataError if the data do not fit the encoder, the task or each other; an AtlasError if
    training is stopped or fails (:func:`training.loop.train`), or a method does not fit the task.
    """
    run = FinetuningRun(job)
    for method in methods:
        method.prepare(run)
    examples = run.examples(run.rows, training=True)
    subwords = (item.subwords for item in (examples, *run.tests.values()))
    trim(run.model.encoder, chain(subwords, *(method.subwords() for method in methods)))
    # What neither weights nor examples tell.
    settings = [run.model.dropout.p, sorted(job.train_languages or []), job.trained_layers]
    settings += [job.labelled_subword] if job.labelled_subword else []
    log = train(
        run.model,
        examples,
        run.objective,
        job.optimisation,
        seed=job.seed,
        state_dir=job.state_dir,
        description=job.description,
        methods=methods,
        fingerprint=f"{store_digest(job.train)} {settings}",
    )
    # Methods may replace the objective; its loss by guessing is then another one.
    is_tasks = isinstance(run.objective, run.task.objective)
    write_curve(log, job.output_curve, examples.guessing_loss() if is_tasks else None)
    tables = []
    for name, test in run.tests.items():
        outputs = predict(
            run.model,
            test,
            run.task.forward,
            description=f"{job.description}, predicting {name}",
            precision=job.optimisation.precision,
        )
        tables.append(run.task.decode(test, outputs, name))
    if job.output_model:
        run.model.cpu()
        restore_words(run.model.encoder, run.initial_encoder(), job.optimisation, log)
        save_model(run.model, run.labels, job.task, job.encoder, job.output_model)
    table = pa.concat_tables(tables or [run.task.prediction_schema.empty_table()])
    write_parquet(table, job.output_predictions)
    return log

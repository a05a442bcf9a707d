"""Recorded passes give the bytes of eager ones, and a step reads nothing on the CPU.

On a GPU recordings are CUDA graphs; elsewhere they repeat the passes on the memory of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pytest
import torch
from test_trimming import METHODS, OPTIMISATION, folder, write_examples, write_inputs
from tiny_models import finetuned, finetuning_job
from torch.utils._python_dispatch import TorchDispatchMode
from toy_representations import toy_pairs

from mbert_atlas import tasks
from mbert_atlas.config.training import Adjustment, Optimisation
from mbert_atlas.encoders import precision
from mbert_atlas.errors import AtlasError
from mbert_atlas.tasks.base import Batch
from mbert_atlas.training import adjustment, gradients, graphs, loop
from mbert_atlas.training.graphs import Graphs, graphs_on
from mbert_atlas.training.job import FinetuningRun
from mbert_atlas.training.methods import confusion, replay

__all__ = ["folder"]  # a fixture
WITH_FIXED_SHAPES = [task for task in tasks.TASKS if task != "qa"]


class Recorder:
    """Makes recordings and counts them and the passes that they repeat."""

    def __init__(self) -> None:
        self.recordings = self.repeated = 0

    def graphs_on(self, device: torch.device) -> Graphs:
        made = graphs_on(device)
        record = made._record if made else partial
        return Graphs(partial(self._record, record))

    def _record(self, record: Any, passes: Any, inputs: Batch) -> Callable[[], torch.Tensor]:
        self.recordings += 1
        recorded = record(passes, inputs)

        def repeat() -> torch.Tensor:
            self.repeated += 1
            return recorded()

        return repeat


def trained_both_ways(folder: Path, task: str, *methods: str, **changes: Any) -> Recorder:
    """Compare a run with recordings and one without, byte by byte."""
    recorder, logs, contents = Recorder(), [], []
    optimisation = Optimisation(**OPTIMISATION | {"epochs": 4} | changes)
    for name, made in (("recorded", recorder.graphs_on), ("eager", lambda _: None)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loop, "graphs_on", made)
            patch.setattr(confusion, "graphs_on", made)
            patch.setattr(
                FinetuningRun,
                "padding",
                staticmethod(lambda training: {"pad_multiple": 8, "fixed_shapes": training}),
            )
            job = finetuning_job(folder, task, task, name, optimisation=optimisation)
            logs.append(finetuned(job, *(METHODS[method](folder) for method in methods)))
        files = [path for path in sorted((folder / name).rglob("*")) if path.is_file()]
        contents.append({path.relative_to(folder / name): path.read_bytes() for path in files})
    assert contents[0] == contents[1]
    assert logs[0].epoch_losses == logs[1].epoch_losses
    return recorder


@pytest.mark.parametrize("task", tasks.TASKS)
def test_every_task(folder: Path, task: str) -> None:
    write_examples(task, folder)
    recorder = trained_both_ways(folder, task)
    assert recorder.repeated > recorder.recordings
    if task in WITH_FIXED_SHAPES:
        # One for each width, 8 or 16, and number of examples in a micro-batch.
        assert recorder.recordings <= 8
        assert recorder.repeated > 12


@pytest.mark.parametrize("method", METHODS)
def test_every_method(folder: Path, method: str) -> None:
    task = write_inputs((method,), folder)
    assert trained_both_ways(folder, task, method).repeated > 12


@pytest.mark.parametrize("change", [{"clip_norm": None}, {"precision": "bf16"}])
def test_without_clipping_and_in_bf16(folder: Path, change: dict[str, Any]) -> None:
    write_examples("parsing", folder)
    assert trained_both_ways(folder, "parsing", **change).repeated > 12


def test_what_cannot_be_recorded_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(passes: Any, inputs: Batch) -> Any:
        raise RuntimeError("the stream is capturing\nmore")

    monkeypatch.setattr(loop, "graphs_on", lambda _: Graphs(fails))
    write_examples("nli", folder)
    job = finetuning_job(folder, "nli", "nli", "out", optimisation=Optimisation(**OPTIMISATION))
    with pytest.raises(AtlasError, match=r"is capturing\. .*MBERT_ATLAS_GRAPHS=0"):
        finetuned(job)


def test_graphs_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MBERT_ATLAS_GRAPHS", "0")
    assert graphs_on(torch.device("cuda")) is None


def test_large_batches_and_many_shapes_stay_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "_MOST_TOKENS", 12)
    monkeypatch.setattr(graphs, "_MOST_GRAPHS", 3)
    recorder = Recorder()
    made = Graphs(partial(recorder._record, partial))
    for _ in range(3):
        for width in (4, 5, 6, 7, 8, 9):
            batch = {"input_ids": torch.ones(2, width)}
            assert made.run(lambda inputs: inputs["input_ids"].sum(), batch) == 2 * width
    assert (recorder.recordings, recorder.repeated) == (3, 6)


class Unread(TorchDispatchMode):
    """Raises where a number or a shape is read that a GPU would have to finish first."""

    FORBIDDEN = (
        "_local_scalar_dense",
        "nonzero",
        "is_nonzero",
        "equal",
        "masked_select",
        "_unique2",
    )

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        is_masked = name == "index" and any(
            index is not None and index.dtype == torch.bool for index in args[1]
        )
        is_counted = name == "repeat_interleave" and not (kwargs or {}).get("output_size")
        if name in self.FORBIDDEN or is_masked or is_counted:
            raise AssertionError(f"a step reads from the GPU: {func}")
        return func(*args, **kwargs or {})


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Watch forward passes, clipping and the optimiser; return the names of what was watched."""
    watched = list[str]()

    @contextmanager
    def autocast(*arguments: Any) -> Iterator[None]:
        watched.append("forward")
        with Unread(), precision.autocast(*arguments):
            yield

    def watch(function: Any) -> Any:
        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            watched.append(function.__name__)
            with Unread():
                return function(*arguments, **options)

        return call

    for module in (gradients, replay):
        monkeypatch.setattr(module, "autocast", autocast)
    monkeypatch.setattr(loop, "clip_gradients", watch(loop.clip_gradients))
    monkeypatch.setattr(torch.optim.AdamW, "step", watch(torch.optim.AdamW.step))
    return watched


@pytest.mark.parametrize("task", tasks.TASKS)
def test_no_task_reads_in_a_step(folder: Path, task: str, unread: list[str]) -> None:
    write_examples(task, folder)
    finetuned(finetuning_job(folder, task, task, "out", optimisation=Optimisation(**OPTIMISATION)))
    assert {"forward", "clip_gradients"} < set(unread)


@pytest.mark.parametrize("method", METHODS)
def test_no_method_reads_in_a_step(folder: Path, method: str, unread: list[str]) -> None:
    task = write_inputs((method,), folder)
    job = finetuning_job(folder, task, task, "out", optimisation=Optimisation(**OPTIMISATION))
    finetuned(job, METHODS[method](folder))
    assert {"forward", "clip_gradients"} < set(unread)


def test_no_adjustment_reads_in_a_step(folder: Path, unread: list[str]) -> None:
    toy_pairs(folder / "pairs", sentences=5)
    adjustment.adjust(
        encoder=folder / "encoder",
        store=folder / "pairs",
        specification=Adjustment(sentences=3, optimisation=Optimisation(**OPTIMISATION)),
        seed=1,
        output=folder / "out",
        state_dir=folder / "state",
    )
    assert unread.count("clip_gradients") == 3


def test_a_read_is_noticed() -> None:
    values = torch.tensor([1.0, 2.0])
    for read in (values.sum().item, lambda: values[values > 1], values.nonzero, values.unique):
        with pytest.raises(AssertionError, match="reads from the GPU"), Unread():
            read()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("what", [*tasks.TASKS, *METHODS])
def test_no_step_waits_for_the_gpu(
    folder: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = loop._Run.step

    def watched(*arguments: Any) -> None:
        torch.cuda.set_sync_debug_mode("error")
        try:
            step(*arguments)
        finally:
            torch.cuda.set_sync_debug_mode("default")

    monkeypatch.setattr(loop._Run, "step", watched)
    methods = (what,) if what in METHODS else ()
    task = write_inputs(methods, folder)
    if not methods:
        task = what
        write_examples(task, folder)
    job = finetuning_job(folder, task, task, "out", optimisation=Optimisation(**OPTIMISATION))
    finetuned(job, *(METHODS[method](folder) for method in methods))

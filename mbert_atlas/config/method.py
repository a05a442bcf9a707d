"""The options of a training method, and what it needs of the rest of the config."""

from collections.abc import Mapping
from typing import Any, ClassVar

from mbert_atlas.config.base import ConfigModel


class MethodOptions(ConfigModel):
    """Options of a training method: what a fine-tuning does besides learning its task.

    A method is two modules of one name, its key among the hyperparameters of a family: its options
    in :mod:`mbert_atlas.config.methods`, where they are found, and its class in
    :mod:`mbert_atlas.training.methods`, where it is registered.

    The first line of its docstring describes the key.

    Attributes:
        language_data: the task of the encoding in which the method reads the ``language_data`` of
            its family; empty: it does not read them.
        trains_encoder: the method does nothing while the encoder is frozen.
    """

    language_data: ClassVar[str] = ""
    trains_encoder: ClassVar[bool] = False

    def check(self, config: Any, place: str, name: str) -> None:
        """Report mistakes in what the method needs of the rest of the config.

        Args:
            config: the config.
            place: key of the options, with dots.
            name: the family of runs.
        """

    def specification(self, start: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return what else decides the result of a run, as plain JSON values.

        Args:
            start: specification of the run that this one starts from.
        """
        return {}

    def passes(self, batch_size: int) -> float:
        """Return what the method adds to a training step, in forward passes over the batch."""
        return 0.0

    def inputs(self, run: Any, files: Any) -> dict[str, str]:
        """Return the files and folders that the method reads, by name.

        Args:
            run: the :class:`mbert_atlas.plan.runs.Run`.
            files: the :class:`mbert_atlas.plan.files.Files` of the config.
        """
        return {}

"""What the Hugging Face hub says of a model, and when it does not."""

from mbert_atlas.sources.download import AnswerError, UnreachableError


def newest_revision(repository: str) -> str:
    """Return the newest commit of a model on the hub, 40 hexadecimal digits.

    Raises an AnswerError if the hub has no such model, or does not answer.
    """
    import huggingface_hub  # here, because it takes a while

    try:
        return str(huggingface_hub.HfApi().model_info(repository, timeout=20).sha)
    except Exception as error:  # its own kinds and those of its network library
        fix = "check the name, or state the revision of one that is in the downloads or the mirror"
        raise hub_error(error, repository, fix) from error


def hub_answer(error: Exception) -> tuple[int | None, str]:
    """Return the status of an answer of the hub, None without one, and what its client says."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status, next(iter(str(error).strip().splitlines()), type(error).__name__)


def hub_error(error: Exception, repository: str, fix: str, where: str = "") -> AnswerError:
    """Return an error for what the hub did not return; without an answer another try may help."""
    status, reason = hub_answer(error)
    kind = UnreachableError if status is None else AnswerError
    return kind(repository, status, f"the hub did not return it ({reason})", fix, where)

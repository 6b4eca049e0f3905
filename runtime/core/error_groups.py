"""What a group of errors, as nurseries raise them, is about."""

from runtime.core.errors import Fenced, ReplanError


def root_cause(error: BaseException) -> BaseException:
    """Return the one error to tell of: a lost run first, then errors of ours, then any other; of each the first.

    An error that is no group is its own cause. A cancellation comes last, since it would hide
    what else went wrong from whoever has cancelled.
    """
    if not isinstance(error, BaseExceptionGroup):
        return error
    return min(map(root_cause, error.exceptions), key=_rank)


def _rank(error: BaseException) -> int:
    from trio import Cancelled  # noqa: PLC0415 - where no trio has run yet there is no group either, and it loads slowly

    match error:
        case Fenced():
            return 0
        case ReplanError():
            return 1
        case Cancelled():
            return 3
        case _:
            return 2

"""Many cases, many settings: configuration, runner, run directory, tables, reports, command line."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wardround.analysis.export import to_dataframe

__all__ = ["to_dataframe"]


def __getattr__(name: str) -> Any:
    """Import what the package offers when it is asked for, so that the command line stays light."""
    if name == "to_dataframe":
        from wardround.analysis.export import to_dataframe

        return to_dataframe
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

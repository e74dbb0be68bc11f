"""``wardround score`` from Python."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import ValidationError

from cases.validation import in_a_line, nearest
from wardround.commands.exit_codes import Refusal
from wardround.commands.score import scoring_functions
from wardround.commands.score.output import content_of, scored
from wardround.config.experiment import ConfigurationError


def score_transcripts(
    suite: str, *sources: str | Path, settings: Mapping[str, Any] | Sequence[str] | None = None, **options: Any
) -> dict[str, Any]:
    """Score transcripts or runs, made anywhere, as ``wardround score SUITE SRC ...`` does.

    ``wr.score_transcripts("aie", "gpt4.json", mode="paper")["metrics"]["COVERAGE"]["mean"]``

    Args:
        suite: the name of the suite or command: ``aie``, ``medpmc``, ``clini_eval``, ``mvme`` ...
        sources: transcript files or run directories.
        settings: how judges are asked, as after ``--set``: ``{"max_tokens": 800}``, or ``["max_tokens=800"]``.
        options: those of the command, with underscores: ``mode="paper"``, ``judge=["openai:gpt-4o"]``. What may be
            repeated there is a list here.

    Returns:
        What the command writes with ``--json``, and ``notes``: what a reader must know to read the numbers. What a
        judge could not answer is counted there and in ``answered``.

    Raises:
        ConfigurationError: no such suite or option, or what the command refuses.
        InputError: a file or a model cannot be used.
    """
    functions = scoring_functions()
    if isinstance(settings, str):  # a text would be read letter by letter
        raise ConfigurationError(f"settings = {settings!r}; expected a list, [{settings!r}]")
    if (score := functions.get(str(suite).replace("_", "-"))) is None:
        raise ConfigurationError(f"suite {suite!r}: {nearest(suite, functions)}")
    first, *known = get_type_hints(score).items()
    names = {name for name, _ in known} - {"return"}
    for name in options:
        if name not in names:
            raise ConfigurationError(f"{name}: no option of suite {suite!r}: {nearest(name, names)}")
    takes_several = any(get_origin(kind) is list for kind in (first[1], *get_args(first[1])))  # list[Path] | None
    if not takes_several and len(sources) > 1:
        raise ConfigurationError(f"{sources[1]}: suite {suite!r} takes one source")
    given = {first[0]: list(sources) if takes_several else sources[0]} if sources else {}
    try:
        scores = scored(score, settings or (), **given, **options)
    except ValidationError as error:
        raise ConfigurationError(f"suite {suite!r}: {in_a_line(error)}") from error
    except Refusal as refusal:
        raise ConfigurationError(str(refusal)) from refusal
    scores.write()
    return {**content_of(scores), "notes": list(scores.notes)}

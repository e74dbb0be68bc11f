"""Settings of numbers."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError

from cases.strict import OwnNumbers
from graphs.contexts import CONTEXTS
from llm.blocks import ModelBlock
from nodes.context import Context
from wardround.config.experiment import Data, Run


class Own(OwnNumbers):
    turns: int | None = None
    warmth: Annotated[float, Field(ge=0)] | Literal["default"] = 0.0
    either: bool | int = 0
    name: str | bool = ""


@pytest.mark.parametrize("given", [{"turns": True}, {"warmth": False}])
def test_a_number_is_neither_true_nor_false(given: dict[str, bool]) -> None:
    with pytest.raises(ValidationError, match="expected a number, not true or false"):
        Own.model_validate(given)


def test_what_may_be_true_or_false_is_kept_and_numbers_are() -> None:
    own = Own.model_validate({"turns": "3", "warmth": "default", "either": True, "name": False})

    assert (own.turns, own.warmth, own.either, own.name) == (3, "default", True, False)


@pytest.mark.parametrize("settings", [Context, ModelBlock, Data, Run, *CONTEXTS.values()])
def test_no_setting_of_a_graph_a_model_or_a_run_reads_true_as_one(settings: Any) -> None:
    numbers = [name for name, field in settings.model_fields.items() if field.annotation in (int, float, int | None)]

    assert numbers
    for name in numbers:
        with pytest.raises(ValidationError, match=rf"{name}\n.*expected a number"):
            settings.model_validate({name: True})

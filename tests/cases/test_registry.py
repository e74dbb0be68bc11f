import re
import sys
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ValidationError

from cases.registry import NameIn, Registry, RegistryError, check_function, first_annotation, registering
from cases.validation import nearest

colours: Registry[int] = Registry("colour")
colours.add("red", 1)
colours.add("dark_blue", 2)


class Paint(BaseModel):
    colour: Annotated[str, NameIn(colours)] = "red"


def test_entries_are_found_by_name_in_the_order_in_which_they_came() -> None:
    assert list(colours) == ["red", "dark_blue"] and colours["dark_blue"] == 2


def test_an_unknown_name_is_refused_with_the_nearest_right_one() -> None:
    with pytest.raises(RegistryError, match=r"unknown colour .dark_bleu.: did you mean .dark_blue.\?"):
        colours["dark_bleu"]
    with pytest.raises(RegistryError, match="expected one of dark_blue, red"):
        colours["xyz"]


@pytest.mark.parametrize("name", [None, 3, ["red"]])
def test_what_is_no_name_is_refused_as_an_unknown_one(name: Any) -> None:
    with pytest.raises(RegistryError, match=rf"unknown colour {re.escape(repr(name))}: (expected one of|did you mean)"):
        colours[name]


@pytest.mark.parametrize("name", ["red", "Red", "", "a b", "1st"])
def test_a_name_that_is_taken_or_is_none_is_refused(name: str) -> None:
    with pytest.raises(RegistryError, match=f"colour {name!r}"):
        colours.add(name, 3)


def test_a_field_takes_registered_names_and_its_form_lists_what_is_registered_when_it_is_drawn() -> None:
    assert Paint(colour="dark_blue").colour == "dark_blue"
    with pytest.raises(ValidationError, match="unknown colour 'grene'"):
        Paint(colour="grene")
    shades: Registry[int] = Registry("shade")

    class Shade(BaseModel):
        name: Annotated[str, NameIn(shades)]

    shades.add("light", 1)
    assert Shade.model_json_schema()["properties"]["name"]["enum"] == ["light"]


def test_a_name_that_somebody_else_has_taken_says_who() -> None:
    tints: Registry[int] = Registry("tint")
    with registering("plug-in ward_a"):
        tints.add("pale", 1)
    with (
        registering("plug-in ward_b"),
        pytest.raises(RegistryError, match="tint 'pale' is already registered, by plug-in ward_a; choose another name"),
    ):
        tints.add("pale", 2)


def test_a_function_that_takes_what_it_is_given_in_another_order_is_refused() -> None:
    with pytest.raises(RegistryError, match=r"def x\(case, answers\): answers, case in another order"):
        check_function("metric", "x", lambda answers, case: 1, "case, answers")
    check_function("metric", "x", lambda given, made: 1, "case, answers")


@pytest.mark.skipif(sys.version_info < (3, 14), reason="this Python evaluates annotations when they are defined")
def test_annotations_that_only_type_checkers_can_read_need_no_quotes() -> None:
    defined: dict[str, Any] = {}
    exec("def read(source: str, rows: Elsewhere) -> Elsewhere: ...\ndef odd(view: Elsewhere): ...", defined)
    check_function("importer", "read", defined["read"], "source, rows")
    assert first_annotation(defined["read"]) is str
    with pytest.raises(NameError, match="'Elsewhere' is not defined"):
        first_annotation(defined["odd"])


def test_a_name_that_a_notebook_registers_again_is_told_to_be_perhaps_its_own() -> None:
    tints: Registry[str] = Registry("tint")
    tints.add("pale", "#fff")
    with pytest.raises(
        RegistryError, match="already registered; choose another name, or restart Python if it is your own"
    ):
        tints.add("pale", "#eee")
    with registering("plug-in ward_a"), pytest.raises(RegistryError, match=r"choose another name$"):
        tints.add("pale", "#eee")


@pytest.mark.parametrize(
    ("changed", "again"),
    [({}, True), ({"name": "other"}, False), ({"file": __file__}, False), ({"module": "x"}, False)],
)
def test_the_function_of_a_notebooks_cell_that_is_run_again_takes_its_own_place(
    changed: dict[str, str], again: bool
) -> None:
    def in_a_cell(name: str = "pale", file: str = "/tmp/ipykernel_1/2.py", module: str = "__main__") -> Any:
        defined: dict[str, Any] = {"__name__": module}
        exec(compile(f"def {name}(): ...", file, "exec"), defined)
        return defined[name]

    tints: Registry[str] = Registry("tint")
    mixed = tints.cached(lambda name: f"{tints[name]} and white")
    tints.add("pale", "#fff", in_a_cell())
    assert mixed("pale") == "#fff and white"
    if again:
        assert tints.add("pale", "#eee", in_a_cell(**changed)) == tints["pale"] == "#eee"
        assert mixed("pale") == "#eee and white", "what was built on the entry is built anew"
    else:
        with pytest.raises(RegistryError, match="already registered"):
            tints.add("pale", "#eee", in_a_cell(**changed))
    with pytest.raises(RegistryError, match="already registered"), registering("plug-in ward_a"):
        tints.add("pale", "#ddd", in_a_cell())


def test_of_very_many_names_only_the_likest_are_shown_for_one_that_resembles_none() -> None:
    many = [f"shade_{number:02}" for number in range(40)]
    assert nearest("qqq_07", many).startswith("expected one of 40 names, such as shade_")
    assert "shade_07" in nearest("qqq_07", many) and nearest("qqq_07", many).count(",") == 8
    assert nearest("qqq_07", many[:3]) == "expected one of shade_00, shade_01, shade_02"

"""Lists in answers: what stands in one twice keeps its first place."""

from typing import Annotated

from pydantic import TypeAdapter

from cases.strict import at_most, each_once

Wishes = TypeAdapter(Annotated[list[str], each_once(str.casefold), *at_most(2)])


def test_what_is_listed_again_stays_where_it_was_first_named() -> None:
    assert Wishes.validate_python(["Leader", "second", "leader"]) == ["Leader", "second"]
    kept = Wishes.validate_python(["Leader", "second", "third", "leader"], context={"closed": False})
    assert kept == ["Leader", "second"], "not the first one is left out of too many"

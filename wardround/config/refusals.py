"""What is wrong with settings, told by where each was written, its key, and the key that may have been meant."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import get_args, get_origin

from pydantic import BaseModel, ValidationError

from cases.registry import nearest
from cases.validation import faults
from nodes.context import Context
from wardround.config.experiment import NOT_OF_THE_WORKFLOW, ConfigurationError, Experiment
from wardround.config.setting_places import Settings, origin_of
from wardround.config.sweeping import Sweeping

_SECTIONS = ("workflow", "data", "run")  # whose keys are named as if they stood alone
_ALIKE = 0.8  # a key of another section is named for a slip of the pen only


def refusal(error: ValidationError, settings: Settings, file: Path | None, section: str = "") -> ConfigurationError:
    """Each fault with where it was written (a file or the command line) and its key."""
    told = []
    for detail in faults(error):
        place = tuple(str(part) for part in detail["loc"])
        if section and place[:1] != ("models",):
            place = (section, *place)
        message = detail["msg"]
        if own := re.match(r"'(\w+)' is (no setting of the graph '\w+': )(.*)", message):
            place = (*place, own[1])
            message = own[2] + (own[3] if own[3].startswith("it is obeyed") else _where(place))
        if detail["type"] == "extra_forbidden":
            message = f"unknown key; {_where(place)}"
        key = "" if message.startswith("models") else ".".join(place)
        told.append(": ".join(part for part in (origin_of(settings, place, file), key, message) if part))
    return ConfigurationError("\n".join(told))


def _where(place: Sequence[str]) -> str:
    """Where an unknown key belongs: in another section that has it, or under the name most like it."""
    *section, key = place
    if list(place) == ["context"]:  # what it is called in Python
        return "the settings of a graph stand in [workflow]"
    homes = {name: home for home in ("", *_SECTIONS) if [home] != section for name in known_keys(home.split())}
    if homes.get(key):
        return f"it belongs in [{homes[key]}]"
    own = known_keys(section)
    if len(section) == 1 and not get_close_matches(key, own, 1, _ALIKE):
        for name in get_close_matches(key, homes, 1, _ALIKE):
            return f"did you mean {name!r}, " + (f"of [{homes[name]}]?" if homes[name] else "which is of no section?")
    return nearest(key, own)


def known_keys(section: Sequence[str]) -> list[str]:
    """The keys of a section of an experiment file."""
    if list(section) == ["workflow"]:
        return sorted(set(Context.model_fields) - set(NOT_OF_THE_WORKFLOW))
    kind: type[BaseModel] = Experiment
    for name in section:
        annotation = kind.model_fields[name].annotation if name in kind.model_fields else None
        candidates = [annotation, *(get_args(annotation) if get_origin(annotation) is dict else ())]
        kind = next((one for one in candidates if isinstance(one, type) and issubclass(one, BaseModel)), kind)
    own = set(kind.model_fields)
    return sorted(own | set(Sweeping.model_fields) if issubclass(kind, Experiment) and not section else own)

from typing import Any

import pytest

from cases.registry import RegistryError
from nodes.patients.registration import patient


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ({"examines": "no"}, "examines = 'no'; expected True or False"),
        ({"tracks": 1}, "tracks = 1; expected True or False"),
        ({"greets": True}, "greets needs opens"),
        ({"doctor": "clinichatt"}, "unknown doctor 'clinichatt': did you mean 'clinichat'?"),
        ({"settings": ("doctor_knowz",)}, "unknown setting 'doctor_knowz': did you mean 'doctor_knows'?"),
        ({"settings": "tracker"}, "settings = 'tracker'; expected several names, ('tracker',)"),
    ],
    ids=str,
)
def test_a_capability_that_is_none_is_refused_where_it_is_declared(declared: dict[str, Any], reason: str) -> None:
    with pytest.raises(RegistryError) as refused:
        patient("slip", **{"examines": False, **declared})
    assert str(refused.value).startswith("patient 'slip': ") and reason in str(refused.value)

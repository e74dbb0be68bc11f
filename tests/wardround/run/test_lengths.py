"""What a model cannot read is said before the start; a storm of answers that cannot be read costs nothing."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from nodes.settings import CaseSettings
from tests.support.fake_server import FakeServer, FaultPlan
from tests.support.runs import run, short
from wardround.config.experiment import ConfigurationError, Experiment


def test_a_case_that_is_longer_than_its_patient_can_read_is_named_before_the_start(tmp_path: Path) -> None:
    with FakeServer() as server:
        block = {"tiny": {"spec": f"openai:any@{server.base_url}", "context_length": 40}}
        with pytest.raises(
            ConfigurationError,
            match=r"models.default: 'tiny' has a context_length of 40 tokens, .* about \d+; leave this case out",
        ):
            run(
                Experiment.model_validate({"data": {"limit": 1}, "models": {"default": "tiny"}, "model": block}),
                tmp_path,
            )
        assert not server.requests


def test_pictures_are_not_sent_on_demand_to_who_sees_none() -> None:
    given = {"models": {"default": "blind"}, "model": {"blind": {"spec": "openai:any", "pictures": False}}}
    assert CaseSettings.model_validate(given).send_pictures is False
    with pytest.raises(ValidationError, match=r"send_pictures: models.default is 'blind', which cannot see pictures"):
        CaseSettings.model_validate({**given, "send_pictures": True})


@pytest.mark.parametrize("roles", [("default", "general"), ("general", "default")])
def test_pictures_are_refused_whatever_the_order_of_the_model_map(roles: tuple[str, str]) -> None:
    block = {"blind": {"spec": "openai:any", "pictures": False}}
    given = {"models": dict.fromkeys(roles, "blind"), "model": block, "send_pictures": True}
    with pytest.raises(ValidationError, match=r"send_pictures: models.general is 'blind', which cannot see pictures"):
        CaseSettings.model_validate(given)


@pytest.mark.slow
def test_a_storm_of_answers_that_cannot_be_read_loses_no_case(tmp_path: Path) -> None:
    """5 % of the wrong schema and 5 % cut off, by a seed; each is asked for again up to three times."""
    with FakeServer(faults=FaultPlan(1, {"schema_violation": 0.05, "cut_json": 0.05})) as server:
        summary = run(short(server, limit=6, epochs=2), tmp_path)
        faulty = sum(request.fault is not None for request in server.requests)
    assert (summary["attempted"], summary["failed"]) == (12, 0) and faulty >= 10, summary["failures"]

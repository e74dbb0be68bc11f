"""A folder that holds no model is refused before anything is loaded; what loads one is in `test_local_weights.py`."""

import json
from pathlib import Path

import pytest

from llm.errors import ModelSpecError
from llm.model_folders import check_folder


def test_a_folder_without_a_model_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(ModelSpecError, match=r"has neither config\.json nor adapter_config\.json"):
        check_folder(str(tmp_path))


@pytest.mark.parametrize("gone", ["/nowhere/base", "nobody/nothing-at-all"])
def test_an_adapter_whose_base_is_not_on_this_machine_is_refused_before_it_is_loaded(tmp_path: Path, gone: str) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": gone}))
    with pytest.raises(ModelSpecError, match=f"was trained on {gone}, which is not on this machine"):
        check_folder(str(tmp_path))
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelSpecError, match=r"names no base model.*; write its name or folder under base_model_name"):
        check_folder(str(tmp_path))

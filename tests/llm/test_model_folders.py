"""A folder that holds no model is refused before anything is loaded; what loads one is in `test_local_weights.py`."""

import json
from pathlib import Path

import pytest

from llm.errors import ModelSpecError
from llm.model_folders import check_folder, fingerprint


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


def test_a_changed_weight_a_changed_template_and_a_changed_base_are_another_model(tmp_path: Path) -> None:
    adapter, base, elsewhere = tmp_path / "adapter", tmp_path / "base", tmp_path / "elsewhere"
    for folder in (adapter, base):
        folder.mkdir()
        (folder / "adapter_model.safetensors").write_bytes(b"\0" * 10_000)
        (folder / "README.md").write_text("A card.", "utf-8")
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(base)}))
    seen = {fingerprint(str(adapter))}
    (adapter / "README.md").write_text("Another card.", "utf-8")
    assert fingerprint(str(adapter)) in seen and fingerprint(str(adapter.rename(elsewhere))) in seen
    for change in (elsewhere / "chat_template.jinja", base / "model.safetensors", base / "adapter_model.safetensors"):
        change.write_bytes(b"\1" * 10_000)
        assert fingerprint(str(elsewhere)) not in seen
        seen.add(fingerprint(str(elsewhere)))
    assert fingerprint(str(tmp_path / "nowhere")) == ""


def test_weights_that_are_too_large_to_be_read_whole_are_told_apart_by_parts_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm.model_folders._PART", 10)
    monkeypatch.setattr("llm.model_folders._PARTS", 4)
    weights = tmp_path / "model.safetensors"
    seen = set()
    for changed in (None, 0, 250, 505, 759):
        content = bytearray(1000)
        if changed is not None:
            content[changed] = 1
        weights.write_bytes(content)
        seen.add(fingerprint(str(tmp_path)))
    assert len(seen) == 5

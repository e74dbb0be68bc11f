"""The sections of a MedChain case by their Chinese or English keys, at any depth."""

from collections.abc import Mapping
from typing import Any

from cases.importers.findings import Findings
from cases.importers.source import Record
from cases.text.lexicon import GENERAL
from cases.text.prose import paragraph, prose, texts
from cases.vocabulary import EXAMINATION_ITEMS, normalise, word_list

_KEYS: dict[str, dict[str, list[str]]] = word_list("medchain_sections")


def _fold(key: str) -> str:
    return normalise(key.strip(" 【】"))


_SECTION_OF = {_fold(key): section for sections in _KEYS.values() for section, keys in sections.items() for key in keys}


def is_case(value: Mapping[str, Any]) -> bool:
    """Whether an object is itself a case rather than ``{title: case}``."""
    return any(_SECTION_OF.get(_fold(key)) in _KEYS["holders"] for key in value)


class Sections:
    """The sections of one case; a missing section is empty."""

    def __init__(self, record: Record, case: Mapping[str, Any]) -> None:
        """Collect the sections of a case; unreadable parts are reported on its record."""
        self.record = record
        self.findings = Findings()
        self._contents: dict[str, list[tuple[str, object]]] = {}
        self._walk(case, "", "")

    def contents(self, section: str) -> list[tuple[str, object]]:
        """Return the parts of a section, each with its path in the case."""
        return self._contents.get(section, [])

    def listed(self, section: str) -> list[str]:
        """Return the texts of a section as a list."""
        return [text for _, content in self.contents(section) for text in texts(content)]

    def text(self, section: str) -> str:
        """Return the texts of a section as one paragraph."""
        return paragraph(*(prose(content) for _, content in self.contents(section)))

    def _walk(self, value: Mapping[str, Any], path: str, holder: str) -> None:
        for key, content in value.items():
            at = f"{path}.{key}" if path else key
            section = _SECTION_OF.get(_fold(key))
            if section in _KEYS["holders"] or section in _KEYS["examinations"]:
                self._open(section or "", content, at)
            elif section:
                if section not in ("ignored", "images"):
                    self.record.check_text(at, content)
                self._contents.setdefault(section, []).append((at, content))
            elif item := EXAMINATION_ITEMS.canonical(key):
                # By item, not by position: some cases list an X-ray among the physical items.
                self._result(item, content, at)
            elif holder in _KEYS["examinations"]:
                left_out = self.record.source.left_out(key, EXAMINATION_ITEMS)
                self.record.warn(at, f"unknown examination item, {left_out}")
            else:
                self.record.warn(at, "unknown section, left out")

    def _open(self, section: str, content: object, at: str) -> None:
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, Mapping):
                self._walk(part, at, section)
            elif texts(part) and section in ("examination", "physical"):
                self.record.warn(at, f"names no examination item; filed under {GENERAL}")
                self._result(GENERAL, part, at)
            elif texts(part):
                self.record.expected(at, "an object", part)

    def _result(self, item: str, content: object, at: str) -> None:
        self.record.check_text(at, content)
        if text := prose(content):
            self.findings.by_item.setdefault(item, []).append(text)
        else:
            self.record.warn(at, "has no text; left out")

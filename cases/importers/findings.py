"""Sort freely nested findings into the closed examination items."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cases.text import lexicon
from cases.text.prose import is_bland, label, paragraph, phrase, prose, sentence
from cases.text.sentences import sentences
from cases.vocabulary import AUXILIARY_ITEMS, EXAMINATION_ITEMS, IMAGE_CLASSES, PHYSICAL_ITEMS

_UNLABELLED = "Findings"
_NAMES = {"test", "test name", "name", "examination", "exam", "item", "study", "检查", "项目", "检查项目"}


@dataclass
class Findings:
    """Findings by closed item, with the decisions made in sorting them."""

    by_item: dict[str, list[str]] = field(default_factory=dict)
    displaced: list[tuple[str, str]] = field(default_factory=list)  # tests without an auxiliary item: (test, item)
    unknown: list[str] = field(default_factory=list)  # labels without a rule
    ignored: list[str] = field(default_factory=list)  # labels of something other than findings

    def add_physical(self, value: object) -> None:
        """Sort the findings of the physical examination."""
        for name, content in _entries(value):
            item = lexicon.physical_item(name)
            if lexicon.is_mixed(name):
                self._add_mixed(name, content, item or lexicon.GENERAL)
            else:
                self._add(item or self._unknown(name), name, content)

    def add_tests(self, value: object, default: str | None = None) -> None:
        """Sort test results; ``default`` is the item of tests without a rule."""
        for name, content in _entries(value):
            if lexicon.is_ignored(name):
                self.ignored.append(name)
            elif lexicon.is_group(name) and isinstance(content, Mapping) and not all(map(is_bland, content)):
                self.add_tests(content, lexicon.group_item(name) or default)
            elif name == _UNLABELLED and isinstance(content, str) and not default:
                for text in sentences(content):
                    self.add_text(name, text)
            elif phrase(content):
                self._add_test(name, content, default)

    def add_text(self, heading: str, text: str) -> None:
        """Sort a finding in running text by its label, the test that it names, or its heading."""
        name, colon, _ = text.partition(":")
        named = lexicon.told_by(text)
        general_heading = lexicon.is_group(heading) and not lexicon.group_item(heading)
        if general_heading and named == lexicon.first_test_in(text) and named not in IMAGE_CLASSES:
            named = None  # a part of the body under "Imaging" does not name a laboratory test
        item = (lexicon.test_item(name) or lexicon.group_item(name) or _examined(name)) if colon else None
        item = item or named
        item = item or lexicon.group_item(heading) or lexicon.test_item(heading)
        item = item or lexicon.physical_item(heading) or self._unknown(heading)
        if item in PHYSICAL_ITEMS.names and lexicon.first_test_in(text):
            self.displaced.append((name if colon else " ".join(text.split()[:6]), item))
        self.by_item.setdefault(item, []).append(paragraph(text))

    @property
    def record(self) -> dict[str, dict[str, str]]:
        """The physical and auxiliary parts of an examination record, in the order of the vocabulary."""
        filled = {item: paragraph(*self.by_item[item]) for item in EXAMINATION_ITEMS.names if item in self.by_item}
        return {
            "physical": {item: text for item, text in filled.items() if item in PHYSICAL_ITEMS.names},
            "auxiliary": {item: text for item, text in filled.items() if item in AUXILIARY_ITEMS.names},
        }

    @property
    def items(self) -> list[str]:
        """The recorded items."""
        return [item for item in EXAMINATION_ITEMS.names if item in self.by_item]

    @property
    def note(self) -> str:
        """Which tests are filed under a physical item because no auxiliary item fits."""
        if not self.displaced:
            return ""
        filed = "; ".join(f"{test} under {item}" for test, item in dict.fromkeys(self.displaced))
        return f"Tests for which the closed vocabulary has no item stand with a physical examination: {filed}."

    def _add_test(self, name: str, content: object, default: str | None) -> None:
        # The finding says more than a label such as "Imaging".
        item = lexicon.test_item(name) or default
        if item is None and lexicon.is_group(name):
            item = lexicon.group_item(name) or lexicon.first_test_in(phrase(content))
        item = item or self._unknown(name)
        if isinstance(content, Mapping):
            others = [key for key in content if lexicon.is_ignored(label(str(key)))]
            self.ignored += [f"{name}: {label(str(key))}" for key in others if phrase(content[key])]
            content = {key: finding for key, finding in content.items() if key not in others}
        if item in PHYSICAL_ITEMS.names and phrase(content):
            self.displaced.append((name, item))
        self._add(item, name, content)

    def _add_mixed(self, name: str, content: object, default: str) -> None:
        if isinstance(content, Mapping):
            items = {child: lexicon.physical_item(child) or default for child in content}
            for child, item in items.items():
                if item != default:
                    self._add(item, label(child), content[child])
            content = {child: content[child] for child, item in items.items() if item == default}
        self._add(default, name, content)

    def _add(self, item: str, name: str, content: object) -> None:
        own_name = EXAMINATION_ITEMS.canonical(name) == item or is_bland(name)
        text = prose(content) if own_name else sentence(name, content)
        if text:
            self.by_item.setdefault(item, []).append(text)

    def _unknown(self, name: str) -> str:
        self.unknown.append(name)
        return lexicon.GENERAL


def _examined(name: str) -> str | None:
    """Return the physical item of "Eye examination findings"; None if the name does not mention an examination."""
    return lexicon.physical_item(name) if re.search(r"\bexam(?:ination)?s?\b", name, re.IGNORECASE) else None


def _entries(value: object) -> Iterator[tuple[str, object]]:
    """Yield the labelled parts of a value: ``{"Test": "CBC", "Result": ...}`` in a list is labelled "CBC".

    Text without a label is labelled "Findings".
    """
    if isinstance(value, Mapping):
        yield from ((label(str(key)), content) for key, content in value.items())
    elif isinstance(value, list):
        for part in value:
            name = _own_name(part)
            if name is None:
                yield from _entries(part)
            else:
                yield label(part[name]), {key: content for key, content in part.items() if key != name}
    elif text := phrase(value):
        yield _UNLABELLED, text


def _own_name(part: object) -> str | None:
    """Return the key under which an entry of a list has its name; None if there is not exactly one."""
    if not isinstance(part, Mapping):
        return None
    keys = [key for key, text in part.items() if label(str(key)).lower() in _NAMES and isinstance(text, str)]
    return keys[0] if len(keys) == 1 else None

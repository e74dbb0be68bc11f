"""What an MIT project needs is under terms that ask nothing of its users; what an extra brings is listed."""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.test_architecture import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PAGE = (ROOT / "docs" / "licences.md").read_text("utf-8")
LOCK = (ROOT / "requirements.lock").read_text("utf-8")
PERMISSIVE = re.compile(
    r"MIT|Apache|BSD|ISC|PSF|Python Software Foundation|CNRI-Python|Zlib|BSL-1\.0|CC0|Unlicense|HPND|LLVM",
    re.IGNORECASE,
)
RESTRICTED = re.compile(r"GPL|General Public|Elastic|SSPL|BUSL|EUPL|CC-BY-(?:NC|SA)|CDDL|EPL", re.IGNORECASE)
FILE_LEVEL = re.compile(r"MPL|Mozilla", re.IGNORECASE)  # asks it of changes to its own files alone


@cache
def package(name: str) -> tuple[Distribution, list[Requirement]]:
    """What is installed of a name, and what it requires."""
    found = distribution(name)
    return found, [Requirement(line) for line in found.requires or ()]


def needed(requirements: Iterable[str]) -> dict[str, Distribution]:
    """What these requirements install, all the way down, of what is installed here."""
    found: dict[str, Distribution] = {}
    left = [Requirement(requirement) for requirement in requirements]
    seen: set[tuple[str, str]] = set()
    while left:
        requirement = left.pop()
        name = canonicalize_name(requirement.name)
        if name.startswith(("cuda-", "nvidia-")):  # come with PyTorch's CUDA build, not the CPU's: docs/licences.md
            continue
        for extra in ("", *sorted(requirement.extras)):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                found[name], requires = package(name)
            except PackageNotFoundError:
                continue
            for further in requires:
                if further.marker is None or further.marker.evaluate({"extra": extra}):
                    left.append(further)
    return found


def licence(package: Distribution) -> str:
    """As the package says: the expression, else the classifiers, else the first line of the text."""
    told = package.metadata
    if expression := told.get("License-Expression"):
        return str(expression)
    classifiers = [line.split("::")[-1].strip() for line in told.get_all("Classifier") or () if "License ::" in line]
    return "; ".join(classifiers) or str(told.get("License") or "").strip().split("\n")[0][:80]


def is_restricted(terms: str) -> bool:
    """Whether there is no reading of the terms that is permissive."""
    return bool(RESTRICTED.search(terms)) and not re.search(r"\bOR\b", terms)


CORE = needed(PROJECT["dependencies"])
EXTRAS = PROJECT["optional-dependencies"]


@pytest.mark.parametrize("name", sorted(CORE))
def test_what_everybody_installs_is_permissive(name: str) -> None:
    terms = licence(CORE[name])
    assert not is_restricted(terms), f"{name} is under {terms}; an MIT project cannot ask that of its users"
    if FILE_LEVEL.search(terms):
        assert f"`{name}`" in PAGE, f"{name} is under {terms}: name it in docs/licences.md"
    else:
        assert PERMISSIVE.search(terms), f"{name}: its licence is not known ({terms or 'it says nothing'})"


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_an_extra_brings_under_other_terms_is_listed_with_them(extra: str) -> None:
    """Where the extra is installed; CI installs those of the tests."""
    assert f"`{extra}`" in PAGE
    for name, package in needed(line for line in EXTRAS[extra] if not line.startswith("wardround[")).items():
        terms = licence(package)
        if name not in CORE and not (PERMISSIVE.search(terms) and not is_restricted(terms)):
            assert f"`{name}`" in PAGE, f"{name} of the extra {extra} is under {terms or '?'}: docs/licences.md"


def test_the_gate_finds_what_it_is_there_for() -> None:
    assert is_restricted("GPL-3.0-or-later") and is_restricted("LGPL-3.0-only") and is_restricted("Elastic-2.0")
    assert is_restricted("GNU General Public License v3 or later (GPLv3+)")
    assert not is_restricted("MIT") and not is_restricted("MIT OR GPL-2.0-only")
    assert len(CORE) > 100, "the whole closure is looked at"


def test_the_lock_holds_every_dependency_to_its_pin_and_each_file_to_a_hash() -> None:
    entries = re.findall(r"^([a-z0-9][\w.-]*)==(\S+)[^\n]*\n((?:    --hash=.*\n?)+)", LOCK, re.MULTILINE)
    locked = {name: version for name, version, _ in entries}
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE))
    pins = {canonicalize_name(name): version for name, version in pins.items()}
    assert {name: pins[name] for name in locked if name in pins} == {n: v for n, v in locked.items() if n in pins}
    assert {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]} <= locked.keys()
    assert all(re.fullmatch(r"(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n?)+", hashes) for *_, hashes in entries)
    assert len(entries) == len(re.findall(r"^[a-z0-9]", LOCK, re.MULTILINE))

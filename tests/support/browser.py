"""Headless Chromium, if installed, for our own pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

WIDE = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}
PHONE_IN_THE_DARK = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}


_TIMEOUT = 120_000  # milliseconds, for a busy machine


@contextmanager
def page_in(browser: "Browser", look: Any, **more: Any) -> Iterator["Page"]:
    """Open an empty page in a window with this viewport and colour scheme."""
    with browser.new_context(**look, **more) as context:
        context.set_default_timeout(_TIMEOUT)
        yield context.new_page()


@contextmanager
def browser_of_this_machine() -> Iterator["Browser"]:
    """Start a browser; skips the test, with the reason, if there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright (the test extra) is not installed")
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip(f"this machine has none of {', '.join(_NAMES)}")
    with api.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()

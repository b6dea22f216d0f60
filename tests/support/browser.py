"""
A real Chromium, from the distribution's package, driven by Playwright.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

PageFactory = Callable[..., Awaitable[Any]]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Tests run as root in containers, where Chromium has no sandbox and little shared memory.
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-proxy-server"]


@pytest.fixture
async def page_factory() -> AsyncIterator[PageFactory]:
    """
    Hand out pages (``color_scheme="dark", viewport={...}``); what a page says to its console as an error fails the test.
    """
    api = pytest.importorskip("playwright.async_api", reason="the package playwright is not installed")
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium here (Debian: apt-get install chromium)")
    faults: list[str] = []
    async with AsyncExitStack() as stack:
        playwright = await stack.enter_async_context(api.async_playwright())
        browser = await playwright.chromium.launch(executable_path=path, args=FLAGS)
        stack.push_async_callback(browser.close)

        async def new(url: str, *, errors: bool = True, **context: Any) -> Any:
            settings = {"locale": "en-GB", "viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"}
            made = await browser.new_context(**{**settings, **context})
            page = await made.new_page()
            page.set_default_timeout(10_000)
            if errors:
                page.on("pageerror", lambda fault: faults.append(str(fault)))
                page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
            await page.goto(url)
            return page

        yield new
    assert faults == []

"""
Write docs/images/: the dashboard over a real proxy, through which sessions go to the simulator.

    python scripts/make_screenshots.py        needs Chromium, and the package playwright

Nothing in the pictures is made up but the clock: exchanges are spread over the last 50 minutes.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
from playwright.async_api import Browser, async_playwright

from proxy.admin.listen import AdminListening
from proxy.admin.settings import AdminSettings
from proxy.chat.json import dumps, loads
from proxy.config.settings import AppSettings
from proxy.simulator.server import Simulator
from proxy.simulator.settings import SimulatorSettings
from proxy.tokens.cache import CountCache
from proxy.tokens.counter import TokenCounter
from proxy.tokens.vocabulary import Vocabulary
from proxy.wiring import Proxy, build

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "images"
SESSION = ROOT / "proxy" / "cli" / "data" / "demo_session.jsonl"
WINDOW = 16_000
SPREAD_SECONDS = 50 * 60
DESK, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}


class Clock:
    """
    A clock that the script moves.
    """

    def __init__(self) -> None:
        self.behind = float(SPREAD_SECONDS)

    def __call__(self) -> float:
        """
        Return seconds since 1970, some time ago.
        """
        return time.time() - self.behind


def turns(model: str) -> list[dict[str, Any]]:
    """
    Return the requests of the demo session, one a line of it.
    """
    lines = [loads(line) for line in SESSION.read_bytes().splitlines()]
    rows = lines[0]["messages"] if len(lines) == 1 else [row for line in lines for row in line["messages"]]
    ends = [index for index, row in enumerate(rows) if row["role"] == "assistant" and index > 1]
    extra = {name: value for name, value in lines[0].items() if name not in {"messages", "model"}}
    return [{**extra, "model": model, "messages": rows[:end]} for end in ends]


@asynccontextmanager
async def running(clock: Clock) -> AsyncIterator[tuple[Proxy, str]]:
    """
    Run the simulator with the proxy before it; hand out the proxy and its base URL.
    """
    vocabulary = Vocabulary()
    vocabulary.load()
    counter = TokenCounter(vocabulary, CountCache())
    told = SimulatorSettings(window=WINDOW, summary_markers=("<record ",), summary_tokens=500)
    simulator = Simulator(told, counter=counter)
    await simulator.start()
    settings = AppSettings.model_validate(
        {
            "store": {"url": "memory://", "keep_views": True},
            "upstreams": {"gateway": {"base_url": simulator.url, "context_window": WINDOW}},
            "compaction": {"threshold_tokens": 9_000},
            "routes": [{"name": "coding", "match": {"model": "gpt-*"}, "upstream": "gateway"}],
        }
    )
    proxy = await build(settings, vocabulary=vocabulary, clock=clock)
    listening, host, port = await proxy.start("127.0.0.1", 0)
    try:
        yield proxy, f"http://{host}:{port}/v1"
    finally:
        await listening.stop()
        await proxy.close()
        await simulator.stop()


async def carry(proxy: Proxy, url: str, clock: Clock) -> None:
    """
    Send two sessions through the proxy, each turn some time after the one before.
    """
    both = [turn for pair in zip(turns("gpt-4o"), turns("claude-sonnet-4-5"), strict=True) for turn in pair]
    async with aiohttp.ClientSession() as session:
        for number, turn in enumerate(both):
            clock.behind = SPREAD_SECONDS * (1 - (number + 1) / len(both)) + 5
            headers = {"authorization": "Bearer example", "content-type": "application/json"}
            async with session.post(f"{url}/chat/completions", data=BytesIO(dumps(turn)), headers=headers) as answer:
                await answer.read()
            await proxy.core.tasks.settled()
    clock.behind = 0.0


async def shoot(browser: Browser, url: str, name: str, **context: Any) -> None:
    """
    Write one picture.
    """
    made = await browser.new_context(locale="en-GB", reduced_motion="reduce", **context)
    page = await made.new_page()
    await page.goto(url)
    await page.locator("main h2").first.wait_for()
    await page.get_by_text("Live", exact=True).wait_for()
    await page.wait_for_timeout(300)
    await page.screenshot(path=TARGET / f"{name}.png", full_page="phone" in name)
    await made.close()


async def main() -> None:
    """
    Make all pictures.
    """
    TARGET.mkdir(parents=True, exist_ok=True)
    clock = Clock()
    async with running(clock) as (proxy, url), async_playwright() as playwright:
        await carry(proxy, url, clock)
        listening = AdminListening(proxy.admin, AdminSettings(listen="127.0.0.1:0"))
        bound = await listening.start() or ("", 0)
        admin = f"http://{bound[0]}:{bound[1]}"
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        record = (await proxy.admin.sessions(1))[0]["id"]
        await shoot(browser, f"{admin}/#overview", "dashboard-light", viewport=DESK, color_scheme="light")
        await shoot(browser, f"{admin}/#overview", "dashboard-dark", viewport=DESK, color_scheme="dark")
        await shoot(browser, f"{admin}/#exchanges", "dashboard-exchanges", viewport=DESK, color_scheme="light")
        await shoot(browser, f"{admin}/#session/{record}", "dashboard-session", viewport=DESK, color_scheme="light")
        compacted = next(one["id"] for one in await proxy.admin.exchanges(200) if one["action"] == "compacted")
        wide = {"width": 1280, "height": 1400}
        await shoot(
            browser, f"{admin}/#exchange/{compacted}", "dashboard-compaction", viewport=wide, color_scheme="light"
        )
        await shoot(browser, f"{admin}/#overview", "dashboard-phone", viewport=PHONE, color_scheme="light")
        await browser.close()
        await listening.stop()


if __name__ == "__main__":
    asyncio.run(main())

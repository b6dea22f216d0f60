"""
The dashboard in a real browser, over a running proxy with real exchanges.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from tests.support.conversations import chat_session, long_session, system, user

pytestmark = [pytest.mark.browser, pytest.mark.slow]
BIG = chat_session(12)
SMALL = chat_session(2)
PRICES = {"sim-*": {"prices": {"input": 2.0, "output": 8.0, "cached": 0.2}}}
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
PHONE = {"width": 390, "height": 844}


@pytest.fixture
async def busy(world_factory: Any, admin_factory: Any) -> Any:
    """
    A proxy through which a session went, and its admin port.
    """
    world = await world_factory(models=PRICES)
    admin = await admin_factory(world.proxied.proxy.admin)
    for rows in long_session(14):
        await world.chat(rows)
    await world.chat(SMALL)
    return world, admin


async def text_of(page: Any, selector: str = "main") -> str:
    """
    Return what is to be read.
    """
    return str(await page.locator(selector).inner_text())


async def test_the_overview_tells_what_was_saved(busy: Any, page_factory: Any) -> None:
    """
    The same numbers as the API.
    """
    _, admin = busy
    page = await page_factory(admin.url)
    await page.get_by_text("Net effect").first.wait_for()
    sums = (await admin.get("/api/stats"))["models"]["default"]["sim-model"]
    text = await text_of(page)

    assert await page.title() == "Overview · Concertina"
    assert await text_of(page, "#state") == "Live"
    assert f"{sums['exchanges']:,.0f}" in await text_of(page, ".tiles")
    assert f"{sums['prompt_tokens']:,.0f}" in text
    assert await page.locator("figure svg path.series").count() == 6


async def test_exchanges_appear_as_they_end(busy: Any, page_factory: Any) -> None:
    """
    Without a reload.
    """
    world, admin = busy
    page = await page_factory(f"{admin.url}/#exchanges")
    await page.locator("tbody tr").first.wait_for()
    await page.get_by_text("Live", exact=True).wait_for()
    before = await page.locator("tbody tr").count()
    reply = await world.chat(BIG)
    link = page.locator(f'a[href="#exchange/{reply.headers["x-concertina-id"]}"]')
    await link.wait_for()

    assert await page.locator("tbody tr").count() == before + 1
    await link.click()
    await page.get_by_role("heading", name=f"Exchange {reply.headers['x-concertina-id']}").wait_for()
    assert "compacted" in await text_of(page)


async def test_an_exchange_is_searched_by_the_clients_id(busy: Any, page_factory: Any) -> None:
    """
    The id that somebody has in a log of their own.
    """
    world, admin = busy
    await world.chat(SMALL, headers={"x-request-id": "theirs-1"})
    page = await page_factory(f"{admin.url}/#exchanges")
    await page.get_by_label("Request id").fill("theirs-1")
    await page.get_by_role("button", name="Find").click()
    await page.get_by_role("heading", name=re.compile("Exchange ")).wait_for()

    assert "theirs-1" in await text_of(page)


async def test_a_conversation_is_marked_and_compacted(busy: Any, page_factory: Any) -> None:
    """
    A press of a button, and the next request is compacted below the threshold.
    """
    world, admin = busy
    first = await world.chat(BIG)
    page = await page_factory(f"{admin.url}/#session/{first.headers['x-concertina-record']}")
    await page.get_by_role("button", name="Compact at the next request").click()
    await page.get_by_text("Marked").wait_for()
    grown = [*BIG, {"role": "assistant", "content": "Done."}, *chat_session(4)[1:]]

    assert (await world.chat(grown)).action == "compacted"


async def test_a_record_is_dropped_only_when_sure(busy: Any, page_factory: Any) -> None:
    """
    The safe answer has the focus.
    """
    world, admin = busy
    record = (await world.chat(BIG)).headers["x-concertina-record"]
    page = await page_factory(f"{admin.url}/#session/{record}")
    drop = page.get_by_role("button", name="Drop the record")
    await drop.click()
    await page.keyboard.press("Enter")
    kept = (await admin.ask(f"/api/sessions/{record}")).status
    await drop.click()
    await page.get_by_role("button", name="Drop", exact=True).click()
    await page.get_by_text("The record was dropped").wait_for()

    assert (kept, (await admin.ask(f"/api/sessions/{record}")).status) == (200, 404)


async def test_a_compaction_opens_side_by_side(world_factory: Any, admin_factory: Any, page_factory: Any) -> None:
    """
    What went in on one side, what was sent on the other; hostile text stays text there, too.
    """
    world = await world_factory(store={"url": "memory://", "keep_views": True})
    admin = await admin_factory(world.proxied.proxy.admin)
    reply = await world.chat([*BIG[:-1], user(f"Please mind {HOSTILE} there.")])
    page = await page_factory(f"{admin.url}/#exchange/{reply.headers['x-concertina-id']}")
    went_in, sent = page.get_by_role("region", name="Went in"), page.get_by_role("region", name="Was sent")
    await sent.wait_for()

    assert await went_in.locator("li").count() == len(BIG)
    assert await sent.locator("li").count() == len(world.sent.messages)
    assert await sent.locator("li.summary").count() == 1
    assert HOSTILE in await sent.inner_text()
    assert await page.locator("main img, main script").count() == 0


async def test_models_and_health_are_told(busy: Any, page_factory: Any) -> None:
    """
    Where windows come from, how tokens compare, whether the store works.
    """
    _, admin = busy
    page = await page_factory(f"{admin.url}/#models")
    await page.get_by_text("configured").wait_for()
    (row,) = (await admin.get("/api/windows"))["windows"]

    assert f"{row['ratio']:.3f}" in await text_of(page)
    await page.get_by_role("link", name="Health").click()
    await page.get_by_text("works").first.wait_for()
    text = await text_of(page)
    assert "memory" in text
    assert "sim / sim-model" in text


async def test_hostile_names_stay_text(world_factory: Any, admin_factory: Any, page_factory: Any) -> None:
    """
    Models, titles and session names come from clients; none of them is markup, none runs.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin)
    ask = f"Fix {HOSTILE} in the parser."
    rows = [system(), user(ask), *BIG[2:]]
    reply = await world.chat(rows, model=HOSTILE, headers={"x-concertina-session": HOSTILE})
    record = reply.headers["x-concertina-record"]
    page = await page_factory(admin.url)
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    for view in (
        "overview",
        "exchanges",
        "sessions",
        f"session/{record}",
        "models",
        f"exchange/{reply.headers['x-concertina-id']}",
    ):
        await page.goto(f"{admin.url}/#{view}")
        await page.locator("main").get_by_text("<img src=x").first.wait_for()

        assert await page.locator("main img, main script").count() == 0
    assert dialogs == []


async def test_scripts_from_elsewhere_are_forbidden(busy: Any, page_factory: Any) -> None:
    """
    Whatever gets into the page, the policy stops it.
    """
    _, admin = busy
    page = await page_factory(admin.url, errors=False)
    await page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.broken = true";
            document.body.append(script);
            document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.broken = true'>");
        }"""
    )
    await asyncio.sleep(0.3)

    assert await page.evaluate("() => window.broken") is None


async def test_the_token_is_asked_for(world_factory: Any, admin_factory: Any, page_factory: Any) -> None:
    """
    A wrong one again, the right one opens the page, and it is in no address.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin, token="open sesame")
    page = await page_factory(admin.url, errors=False)
    for given in ("wrong", "open sesame"):
        await page.get_by_role("textbox", name="Token").fill(given)
        await page.get_by_role("button", name="Open").click()
        if given == "wrong":
            await page.get_by_text("not accepted").wait_for()
    await page.get_by_text("Net effect").first.wait_for()

    assert await text_of(page, "#state") == "Live"
    assert "sesame" not in page.url


async def test_the_keyboard_reaches_everything(busy: Any, page_factory: Any) -> None:
    """
    Skip link, views, and the focus goes where the view changed.
    """
    _, admin = busy
    page = await page_factory(admin.url)
    await page.get_by_text("Net effect").first.wait_for()
    seen = []
    for _ in range(6):
        await page.keyboard.press("Tab")
        seen.append(await page.evaluate("() => document.activeElement.textContent"))
    await page.keyboard.press("Enter")
    await page.get_by_role("heading", name="Health").wait_for()

    assert seen == ["Skip to the content", "Overview", "Exchanges", "Sessions", "Models", "Health"]
    assert await page.evaluate("() => document.activeElement.id") == "main"
    assert await page.locator('nav a[aria-current="page"]').inner_text() == "Health"


@pytest.mark.parametrize("view", ["overview", "exchanges", "sessions", "models", "health"])
async def test_screen_readers_find_their_way(busy: Any, page_factory: Any, view: str) -> None:
    """
    One main part, headings in order, names for controls, headers for cells.
    """
    _, admin = busy
    page = await page_factory(f"{admin.url}/#{view}")
    await page.locator("main h2").first.wait_for()
    problems = await page.evaluate(
        """() => {
            const name = (node) => node.labels?.length || node.ariaLabel || node.textContent.trim();
            const bare = [...document.querySelectorAll("button, input, select, a, meter, svg[role=img]")].filter((node) => !name(node));
            const cells = [...document.querySelectorAll("td")].filter((cell) => !cell.dataset.label);
            const tables = [...document.querySelectorAll("table")].filter((table) => !table.caption);
            return [...bare, ...cells, ...tables].map((node) => node.outerHTML.slice(0, 80));
        }"""
    )

    assert problems == []
    assert [await page.get_by_role(role).count() for role in ("main", "navigation", "banner")] == [1, 1, 1]


@pytest.mark.parametrize("view", ["overview", "exchanges", "sessions", "models", "health"])
async def test_a_phone_shows_it_without_scrolling_sideways(busy: Any, page_factory: Any, view: str) -> None:
    """
    Rows turn into cards.
    """
    _, admin = busy
    page = await page_factory(f"{admin.url}/#{view}", viewport=PHONE)
    await page.locator("main h2").first.wait_for()

    assert await page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
    assert await page.locator("nav ul").evaluate("(list) => list.scrollWidth <= list.clientWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_text_can_be_read_in_light_and_dark(busy: Any, page_factory: Any, scheme: str) -> None:
    """
    Every text has a contrast of 4.5 to 1 with what is behind it.
    """
    _, admin = busy
    page = await page_factory(admin.url, color_scheme=scheme)
    await page.get_by_text("Net effect").first.wait_for()
    weak = await page.evaluate(CONTRAST)

    assert weak == []


CONTRAST = """() => {
    const parts = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = (color) => {
        const [r, g, b] = parts(color).map((part) => part / 255).map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (node) => {
        for (let at = node; at; at = at.parentElement) {
            const color = getComputedStyle(at).backgroundColor;
            if (parts(color)[3] !== 0) return color;
        }
        return "rgb(255, 255, 255)";
    };
    const texts = [...document.querySelectorAll("body *")].filter((node) =>
        [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim()) && node.checkVisibility());
    return texts.map((node) => {
        const style = getComputedStyle(node);
        const [one, other] = [light(node.namespaceURI.endsWith("svg") ? style.fill : style.color), light(behind(node))];
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        return contrast < 4.5 ? `${node.textContent.trim().slice(0, 30)}: ${contrast.toFixed(2)}` : null;
    }).filter(Boolean);
}"""

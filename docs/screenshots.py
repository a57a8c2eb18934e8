"""Makes the pictures of ``docs/images``, each in light and dark: ``python -m docs.screenshots``.

It needs Debian's ``chromium``. The world, its clock and its ids are the same each time.
"""

from __future__ import annotations

import shutil
from base64 import b64decode
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from mkdocs.commands.build import build
from mkdocs.config import load_config
from playwright.sync_api import Browser, Page, sync_playwright

from emulator import Emulator
from emulator.ui.docs import reference

FOLDER = Path(__file__).parent / "images"
MOST = 80_000
"""Bytes of the largest picture."""

DESK, PHONE = (1280, 800), (390, 844)
CARD = {"number": "4000 0000 0000 0002", "expiry": "12/30", "cvc": "123"}
"""A card that is declined."""


class Picture(NamedTuple):
    """A picture: its page in the made world, its window's size, and the actions done before."""

    path: str
    size: tuple[int, int] = DESK
    act: Callable[[Page], object] = lambda page: None


def make_world(payments: Emulator) -> Mapping[str, str]:
    """Make a shop with some history; return the paths of the pages by name of the picture."""
    payments.configure(tax_rate=18)
    premium = payments.api.post(
        "/v1/subscription-plans/",
        {"name": "Premium", "amount": 15000, "currency": "XAF", "interval": "month"},
    )["id"]
    subscriptions = [
        _subscribe(payments, premium, name, phone)
        for name, phone in (
            ("Awa Diop", "+24177000000"),
            ("Jean Ondo", "+24177000001"),
            ("Zoé Ndong", "+24166000000"),
        )
    ]
    payments.webhooks.listen()
    payments.clock.advance("40d")
    lines = [{"description": "Raphia basket", "unit_amount": 15000, "quantity": 2}]
    order = {
        "line_items": lines,
        "currency": "XAF",
        "success_url": "https://shop.example.com/thanks",
    }
    sessions = [payments.api.post("/v1/checkout-sessions/", order) for _ in range(2)]
    customer = payments.api.get(f"/v1/subscriptions/{subscriptions[0]}/")["customer"]
    bill = payments.api.post("/v1/invoices/", {"customer": customer, "line_items": lines})["id"]
    payments.api.post(f"/v1/invoices/{bill}/finalize/")
    app = payments.key.removeprefix("sk_test_")
    return {
        "console": f"/_emulator/?app={app}",
        "subscription": f"/_emulator/console/objects/{subscriptions[1]}?app={app}",
        "checkout": f"/checkout/{sessions[0]['id']}",
        "declined": f"/checkout/{sessions[1]['id']}?lang=fr",
        "invoice": f"/invoice/{bill}",
        "guide": "/docs/guide/webhooks/",
    }


def _subscribe(payments: Emulator, plan: str, name: str, phone: str) -> str:
    email = f"{name.split(maxsplit=1)[0].lower().replace('é', 'e')}@example.com"
    customer = payments.api.post("/v1/customers/", {"email": email, "name": name, "phone": phone})[
        "id"
    ]
    return str(payments.api.post("/v1/subscriptions/", {"customer": customer, "plan": plan})["id"])


def _decline(page: Page) -> None:
    """Pay with a declined card; the second picture finds the page as the first one left it."""
    page.get_by_test_id("method-bank_card").check()
    for name, text in {"name": "Awa Diop", "email": "awa@example.com", **CARD}.items():
        field = page.get_by_test_id(name)
        if field.count():
            field.fill(text)
    page.get_by_test_id("pay").click()
    page.get_by_test_id("problem").wait_for()


def _wait_until_live(page: Page) -> None:
    page.locator(".live.on").wait_for()


def pictures(paths: Mapping[str, str]) -> dict[str, Picture]:
    """Return each picture by its name."""
    special = {
        "console": (DESK, _wait_until_live),
        "subscription": (DESK, _wait_until_live),
        "declined": (PHONE, _decline),
        "invoice": (PHONE, lambda page: None),
    }
    return {name: Picture(path, *special.get(name, ())) for name, path in paths.items()}


def take(browser: Browser, url: str, name: str, picture: Picture, scheme: Any) -> Path:
    """Take one picture, as WebP of at most ``MOST`` bytes."""
    width, height = picture.size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        locale="en-GB",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(url + picture.path)
    picture.act(page)
    for quality in (90, 75, 60, 45):
        options = {"format": "webp", "quality": quality}
        taken = b64decode(
            context.new_cdp_session(page).send("Page.captureScreenshot", options)["data"]
        )
        if len(taken) <= MOST:
            break
    context.close()
    file = FOLDER / f"{name}-{scheme}.webp"
    file.write_bytes(taken)
    return file


def main() -> None:
    """Make all pictures."""
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as site, sync_playwright() as playwright:
        build(load_config(str(Path(__file__).parent / "mkdocs.yml"), site_dir=site))
        reference.GUIDE = Path(site)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        with Emulator(key="sk_test_Okoume", clock="2026-01-01T09:00:00Z", seed=7) as payments:
            for name, picture in pictures(make_world(payments)).items():
                for scheme in ("light", "dark"):
                    file = take(browser, payments.url.removesuffix("/v1"), name, picture, scheme)
                    print(f"{file.name}: {file.stat().st_size // 1000} KB")
        browser.close()


if __name__ == "__main__":
    main()

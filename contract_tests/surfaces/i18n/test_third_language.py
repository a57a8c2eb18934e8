"""A third language is one file: it is offered and used on pages, in emails and PDFs; what it lacks is English."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.console.visitor import visiting
from contract_tests.surfaces.pages.buyer import buyer, link
from emulator.engine.reference_data import ReferenceData
from emulator.presentation.languages import catalogs, language

SWAHILI = {
    "Pay {merchant}": "Lipa {merchant}",
    "Here is your invoice {number}. It is attached as a PDF.": "Hii ni ankara yako {number}. Imeambatishwa kama PDF.",
    "Overview": "Muhtasari",
    ("{count} job done", "{count} jobs done"): ("kazi {count} imefanyika", "kazi {count} zimefanyika"),
}


@pytest.fixture(autouse=True)
def swahili(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The catalogs of the emulator and a small one in Swahili."""
    locales = tmp_path / "locales"
    shutil.copytree(catalogs.LOCALES, locales)
    catalog = Catalog(locale="sw")
    for message, translation in SWAHILI.items():
        catalog.add(message, translation)
    folder = locales / "sw" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    with (folder / "messages.po").open("wb") as file:
        write_po(file, catalog)
    with monkeypatch.context() as patched:
        patched.setattr(catalogs, "LOCALES", locales)
        # The server of other tests has read its languages already.
        patched.setattr(ReferenceData, "languages", property(lambda _: ("en", "fr", "sw")))
        forget()
        yield
    forget()


def forget() -> None:
    """Have the catalogs read again."""
    for cached in (catalogs.languages, catalogs.translations, language.language_of):
        cached.cache_clear()


def test_pages_offer_it_and_who_reads_it_is_written_to_in_it(sandbox: Sandbox) -> None:
    """What it lacks is English."""
    with buyer(sandbox, link(sandbox), **{"Accept-Language": "sw-KE,fr;q=0.5"}) as awa:
        page = awa.open()
    assert [name for name in page.elements if name.startswith("lang-")] == ["lang-en", "lang-fr", "lang-sw"]
    assert (page.language, page.said("lang-sw")) == ("sw", "Kiswahili")
    assert page.said("heading").startswith("Lipa ")
    assert page.said("pay").startswith("Pay ")
    sandbox.subscribe()
    with visiting(sandbox) as visitor:
        visitor.http.post("/_emulator/console/choose", data={"language": "sw", "_back": "/_emulator/"})
        page = visitor.open()
        assert '<html lang="sw"' in page.html
        assert "Muhtasari" in page.text
        assert "kazi 1 imefanyika" in visitor.do("advance", by="31d").said("notice")
    customer = sandbox.customer(metadata={"language": "sw"})
    sandbox.api.post(f"/invoices/{sandbox.invoice(customer)['id']}/send/")
    email = sandbox.control.get("/emails")["data"][0]
    assert email["language"] == "sw"
    assert "Hii ni ankara yako" in sandbox.control.request("GET", f"/emails/{email['id']}/html").text

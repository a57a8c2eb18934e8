"""The ledger of a world: where its money is, read from the emulator on each use."""

from __future__ import annotations

from emulator.presentation.languages.language import plain_money
from emulator.testing.api import JSON, Api

PATH = "/_emulator/ledger"


class Ledger:
    """Double entry over payments, refunds and invoices. Amounts are in minor units."""

    def __init__(self, api: Api) -> None:
        self._api = api

    @property
    def totals(self) -> dict[str, dict[str, int]]:
        """What stands on each of the books, by currency: ``{"XAF": {"buyers": -5000, "merchant": 4855, …}}``."""
        sums: dict[str, dict[str, int]] = {}
        for each in self._read()["totals"]:
            sums.setdefault(each["currency"], {})[each["account"]] = each["amount"]
        return sums

    def entries(self, object: str | None = None, currency: str | None = None) -> list[JSON]:
        """The entries, oldest first: of one object (its id), in one currency, or all that the journal has."""
        found: list[JSON] = []
        page = 1
        while True:
            entries = self._read(object=object, currency=currency, page=page, page_size=100)["entries"]
            found += entries["data"]
            if page >= entries["pagination"]["total_pages"]:
                return found[::-1]
            page += 1

    @property
    def balanced(self) -> bool:
        """Whether everything adds up."""
        return bool(self._read()["balanced"])

    def assert_balanced(self) -> None:
        """Raise ``AssertionError`` with the requests and jobs after which something did not add up."""
        __tracebackhide__ = True
        found = self._read()
        if not found["balanced"]:
            raise AssertionError("\n".join(["The ledger is not balanced:", *map(_line, found["broken_by"])]))

    def _read(self, **query: str | int | None) -> JSON:
        ledger: JSON = self._api.get(PATH, **query)
        return ledger


def _line(each: JSON) -> str:
    earlier = f"; before it {each['earlier']['summary']}" if each["earlier"] else ""
    off = f"{each['account']} is off by {plain_money(each['amount'], each['currency'])}"
    return f"  {each['at']}  {off}: {each['cause']['summary']} ({each['cause']['id']}){earlier}"

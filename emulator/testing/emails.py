"""The emails sent to the customers of a world, oldest first."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.testing.api import JSON, Api

PATH = "/_emulator/emails"


class Emails:
    """The list of emails, read from the emulator on each use."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def __iter__(self) -> Iterator[JSON]:
        return iter(self._api.oldest(PATH))

    def __len__(self) -> int:
        return int(self._api.get(PATH, page_size=1)["pagination"]["count"])

    def to(self, address: str, kind: str | None = None) -> list[JSON]:
        """The emails to an address, optionally of one kind (``invoice``, ``receipt``, ``renewal_failed`` …)."""
        return self._api.oldest(PATH, to=address, kind=kind)

    def of(self, kind: str) -> list[JSON]:
        """The emails of one kind."""
        return self._api.oldest(PATH, kind=kind)

    def wait_for(self, kind: str | None = None, to: str | None = None, timeout: int = 10) -> JSON:
        """Wait for an email of a kind, or to an address, and return the newest; ``timeout`` in real seconds.

        Raises ``AssertionError`` with the emails so far.
        """
        __tracebackhide__ = True
        found = self._api.get(PATH, kind=kind, to=to, wait=timeout, page_size=1)["data"]
        if not found:
            wanted = f"{kind or 'email'} to {to or 'anyone'}"
            raise AssertionError(f"no {wanted} was sent within {timeout} s.\n{self.summary()}")
        email: JSON = found[0]
        return email

    def html(self, email: JSON) -> str:
        """The HTML of an email."""
        return self._api.client.get(f"{PATH}/{email['id']}/html").raise_for_status().text

    def raw(self, email: JSON) -> bytes:
        """The MIME message of an email, attachments included."""
        return self._api.client.get(f"{PATH}/{email['id']}/raw").raise_for_status().content

    def summary(self) -> str:
        """The emails so far, as text for error messages."""
        lines = [f"  {mail['created_at']}  {mail['kind']} to {mail['to']}: {mail['subject']}" for mail in self]
        return "\n".join(["Emails so far:", *lines]) if lines else "No email was sent."

    told = summary  # its name in 0.1.0, which test suites may call

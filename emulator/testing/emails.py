"""The emails of a world: what its customers were sent, oldest first."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.testing.api import JSON, Api

PATH = "/_emulator/emails"


class Emails:
    """The outbox; each look at it asks the emulator anew."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def __iter__(self) -> Iterator[JSON]:
        return iter(self._api.oldest(PATH))

    def __len__(self) -> int:
        return int(self._api.get(PATH, page_size=1)["pagination"]["count"])

    def to(self, address: str, kind: str | None = None) -> list[JSON]:
        """What was sent to an address, perhaps of one kind (``invoice``, ``receipt``, ``renewal_failed`` …)."""
        return self._api.oldest(PATH, to=address, kind=kind)

    def of(self, kind: str) -> list[JSON]:
        """What was sent of one kind."""
        return self._api.oldest(PATH, kind=kind)

    def wait_for(self, kind: str | None = None, to: str | None = None, timeout: int = 10) -> JSON:
        """The newest email of a kind, or to an address, as soon as there is one; ``timeout`` in real seconds.

        Raises ``AssertionError``, telling what was sent.
        """
        __tracebackhide__ = True
        found = self._api.get(PATH, kind=kind, to=to, wait=timeout, page_size=1)["data"]
        if not found:
            asked = f"{kind or 'email'} to {to or 'anybody'}"
            raise AssertionError(f"no {asked} was sent within {timeout} s.\n{self.told()}")
        email: JSON = found[0]
        return email

    def html(self, email: JSON) -> str:
        """The email as its reader sees it."""
        return self._api.client.get(f"{PATH}/{email['id']}/html").raise_for_status().text

    def raw(self, email: JSON) -> bytes:
        """The email as it travels (MIME), attachments included."""
        return self._api.client.get(f"{PATH}/{email['id']}/raw").raise_for_status().content

    def told(self) -> str:
        """The emails so far, for a message."""
        lines = [f"  {mail['created_at']}  {mail['kind']} to {mail['to']}: {mail['subject']}" for mail in self]
        return "\n".join(["Emails so far:", *lines]) if lines else "No email was sent at all."

"""The mailer: sends emails through a real SMTP server, whose answer is a result and never an exception."""

from __future__ import annotations

import asyncio
import re
from typing import NamedTuple
from urllib.parse import unquote

from emulator.resources.simulation.emails import Email

ANSWER_TIME = 10.0
"""Seconds (real time) the server has for each step of a session."""

PORTS = {False: 25, True: 465}
"""The default port, without and with TLS from the first byte."""

_URL = re.compile(
    r"(?P<scheme>smtps?)://((?P<user>[^:@/]+)(:(?P<password>[^:@/]*))?@)?"
    r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?/?"
)

LOOPBACK = ("localhost", "127.0.0.1", "::1")


class SmtpServer(NamedTuple):
    """A server of emails: ``smtp://user:pass@host:port``, or ``smtps://`` for TLS from the first byte."""

    host: str
    port: int
    tls: bool
    username: str | None
    password: str | None

    @classmethod
    def at(cls, url: str) -> SmtpServer:
        """The server of a URL; raises ``ValueError`` for any other text."""
        form = _URL.fullmatch(url)
        if form is None or int(form["port"] or 0) > 65535:
            raise ValueError(f"{url!r}: a URL such as smtp://user:password@127.0.0.1:1025, or smtps://…")
        tls = form["scheme"] == "smtps"
        username, password = (text and unquote(text) for text in form.group("user", "password"))
        return cls(form["host"].strip("[]"), int(form["port"] or PORTS[tls]), tls, username, password)


class Mailer:
    """Sends one message in each SMTP session. A server on this machine may have any certificate."""

    def __init__(self, server: SmtpServer) -> None:
        self.server = server

    async def send(self, email: Email) -> str | None:
        """Send an email; None, or why the server did not accept it."""
        try:
            await self._send(email)
        except Exception as error:  # whatever a foreign server triggers is a result, not our failure
            return f"{type(error).__name__}: {error}".rstrip(": ")
        return None

    async def _send(self, email: Email) -> None:
        # Loaded on first use: most servers send no email.
        import aiosmtplib

        from emulator.presentation.email import mime

        message = await asyncio.to_thread(mime.message, email)
        await aiosmtplib.send(
            message,
            sender=mime.SENDER.addr_spec,
            recipients=[email.to],
            hostname=self.server.host,
            port=self.server.port,
            username=self.server.username,
            password=self.server.password,
            use_tls=self.server.tls,
            validate_certs=self.server.host not in LOOPBACK,
            mail_options=[] if email.to.isascii() else ["SMTPUTF8"],
            timeout=ANSWER_TIME,
        )

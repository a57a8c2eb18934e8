"""The mailer: hands emails to a real SMTP server, whose answer is an outcome and never an exception."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from emulator.core.effects import SendEmail
from emulator.resources.sandbox.emails import Email

if TYPE_CHECKING:
    from emulator.engine.runtime import Runtime

logger = logging.getLogger("emulator")

ANSWER_TIME = 10.0
"""Seconds (real time) the server has for each step."""

PORTS = {False: 25, True: 465}
"""The port where none is given, without and with TLS from the first byte."""

_URL = re.compile(
    r"(?P<scheme>smtps?)://((?P<user>[^:@/]+)(:(?P<password>[^:@/]*))?@)?"
    r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?/?"
)

LOOPBACK = ("localhost", "127.0.0.1", "::1")


class SmtpServer(NamedTuple):
    """Where emails are handed in: ``smtp://user:pass@host:port``, or ``smtps://`` for TLS from the first byte."""

    host: str
    port: int
    tls: bool
    username: str | None
    password: str | None

    @classmethod
    def at(cls, url: str) -> SmtpServer:
        """The server of a URL; raises ``ValueError`` for one that names none."""
        form = _URL.fullmatch(url)
        if form is None or int(form["port"] or 0) > 65535:
            raise ValueError(f"{url!r}: a URL such as smtp://user:password@127.0.0.1:1025, or smtps://…")
        tls = form["scheme"] == "smtps"
        username, password = (text and unquote(text) for text in form.group("user", "password"))
        return cls(form["host"].strip("[]"), int(form["port"] or PORTS[tls]), tls, username, password)


class Mailer:
    """Sends messages one at a time; a server on this machine need not show a certificate that others trust."""

    def __init__(self, server: SmtpServer) -> None:
        self.server = server

    async def send(self, email: Email) -> str | None:
        """Hand in an email; None, or why the server did not take it."""
        try:
            await self._send(email)
        except Exception as fault:  # whatever a stranger's server provokes is an outcome, not our failure
            return f"{type(fault).__name__}: {fault}".rstrip(": ")
        return None

    async def _send(self, email: Email) -> None:
        # Loaded on first use: most servers mail nobody.
        import aiosmtplib

        from emulator.rendering import mime

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


class MailQueue:
    """The emails of one world on their way, in the order they were written. Without a mailer they stay in the world."""

    def __init__(self, runtime: Runtime, mailer: Mailer | None) -> None:
        self._runtime = runtime
        self._mailer = mailer
        self._waiting: deque[SendEmail] = deque()
        self._worker: asyncio.Task[None] | None = None

    def put(self, mail: SendEmail) -> None:
        """Send it when those before it are sent; returns at once."""
        if self._mailer is None:
            return
        self._waiting.append(mail)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work(self._mailer))

    async def empty(self) -> None:
        """Wait until every email has its outcome on record."""
        if self._worker is not None:
            await asyncio.wait([self._worker])

    async def close(self) -> None:
        """Give up what is under way."""
        self._waiting.clear()
        if self._worker is not None:
            self._worker.cancel()
            with suppress(asyncio.CancelledError):
                await self._worker

    async def _work(self, mailer: Mailer) -> None:
        while self._waiting:
            email = self._runtime.world.get(Email, self._waiting.popleft().email)
            if email is None:  # a reset took it away
                continue
            error = await mailer.send(email)
            if error is not None:
                logger.warning("email %s to %s was not sent: %s", email.id, email.to, error)
            self._runtime.record_email(email.id, error)

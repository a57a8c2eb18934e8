"""Emails through a real SMTP server: they arrive whole and in order, and what goes wrong stops nothing (``--smtp``)."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from click.testing import CliRunner

from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.surfaces.rendering import pdfs
from emulator.cli.main import cli
from emulator.engine.outbox import SmtpServer


class Mailbox:
    """A mail server of the tests: it stores what it accepts. ``rejections`` are its answers to the next messages."""

    def __init__(self, **options: Any) -> None:
        self.received: list[Envelope] = []
        self.rejections: list[str] = []
        self.users: list[Any] = []
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._controller = Controller(
            self, hostname="127.0.0.1", port=self.port, enable_SMTPUTF8=True, authenticator=self.authenticate, **options
        )
        self._controller.start()

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.rejections:
            return self.rejections.pop(0)
        self.received.append(envelope)
        self.users.append(session.auth_data)
        return "250 taken"

    def authenticate(self, server: SMTP, session: Session, envelope: Envelope, how: str, data: Any) -> AuthResult:
        known = isinstance(data, LoginPassword) and (data.login, data.password) == (b"shop", b"pass@word")
        return AuthResult(success=known, handled=False, auth_data=data)

    @property
    def messages(self) -> list[EmailMessage]:
        """What arrived, as a reader of mail sees it."""
        parsed = [message_from_bytes(each.content or b"", policy=policy.default) for each in self.received]  # type: ignore[arg-type]  # bytes it is, as the server does not decode
        return [message for message in parsed if isinstance(message, EmailMessage)]

    def close(self) -> None:
        self._controller.stop()


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    mailbox = Mailbox()
    yield mailbox
    mailbox.close()


Open = Callable[[str], Sandbox]


@pytest.fixture
def mailing() -> Iterator[Open]:
    """Opens a sandbox whose emails go to the SMTP server of a URL."""
    with ExitStack() as cleanup:

        def open_sandbox(url: str) -> Sandbox:
            server = RunningServer(smtp=SmtpServer.at(url))
            cleanup.callback(server.stop)
            sandbox = Sandbox(server.url, "sk_test_mailing")
            cleanup.callback(sandbox.close)
            return sandbox

        yield open_sandbox


def subscribe(sandbox: Sandbox, **fields: Any) -> Any:
    """Return a subscription that is collected by emailed invoices, each day."""
    customer = sandbox.customer(**fields)
    body = {"customer": customer["id"], "unit_amount": 700, "interval": "day"}
    sandbox.api.post("/subscriptions/", body)
    return customer


def test_emails_arrive_whole_and_in_order(mailing: Open, mailbox: Mailbox) -> None:
    """The answer to an advance comes when every email has its outcome."""
    sandbox = mailing(f"smtp://127.0.0.1:{mailbox.port}")
    customer = subscribe(sandbox)
    sandbox.advance("3d")
    emails = list(sandbox.control.pages("/emails"))[::-1]
    assert [message["subject"] for message in mailbox.messages] == [email["subject"] for email in emails]
    assert len(emails) == 4
    for email, envelope, message in zip(emails, mailbox.received, mailbox.messages, strict=True):
        assert (envelope.mail_from, envelope.rcpt_tos) == ("no-reply@payments.test", [customer["email"]])
        assert envelope.content == sandbox.control.request("GET", f"/emails/{email['id']}/raw").content
        [attached] = message.iter_attachments()
        assert attached.get_filename() in f"{email['attachments'][0]['filename']}"
        assert "700 XAF" in pdfs.text(attached.get_content())
        assert (email["sent_at"] >= email["created_at"], email["error"]) == (True, None)


def test_what_the_server_rejects_is_recorded_and_the_next_goes_on(mailing: Open) -> None:
    """Also when it is gone."""
    mailbox = Mailbox()
    sandbox = mailing(f"smtp://127.0.0.1:{mailbox.port}")
    mailbox.rejections.append("554 we do not like you")
    subscribe(sandbox)
    sandbox.advance("1d")
    second, first = sandbox.control.get("/emails")["data"]
    assert "we do not like you" in first["error"]
    assert first["sent_at"] is None
    assert (second["error"], len(mailbox.received)) == (None, 1)
    mailbox.close()
    sandbox.advance("1d")
    assert "Connection refused" in sandbox.control.get("/emails")["data"][0]["error"]
    assert sandbox.invoices("status") == ["open"] * 3


WITHOUT_TLS = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
"""The mail server of the tests warns of what the test is about."""


@WITHOUT_TLS
def test_who_the_sender_is_can_be_asked(mailing: Open) -> None:
    """User and password of the URL, percent-encoded where they must be; a wrong password is recorded."""
    mailbox = Mailbox(auth_required=True, auth_require_tls=False)
    for password, error in (("guess", "SMTPAuthenticationError"), ("pass%40word", "None")):
        sandbox = mailing(f"smtp://shop:{password}@localhost:{mailbox.port}")
        subscribe(sandbox)
        sandbox.advance("1s")
        assert error in str(sandbox.control.get("/emails")["data"][0]["error"])
    assert mailbox.users == [LoginPassword(b"shop", b"pass@word")]
    mailbox.close()


def test_tls_from_the_first_byte(mailing: Open) -> None:
    """``smtps://``; on this machine any certificate will do."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(context)
    mailbox = Mailbox(ssl_context=context)
    sandbox = mailing(f"smtps://127.0.0.1:{mailbox.port}")
    subscribe(sandbox)
    sandbox.advance("1s")
    assert len(mailbox.received) == 1
    mailbox.close()


def test_what_a_url_says() -> None:
    assert SmtpServer.at("smtp://mail.example.com") == SmtpServer("mail.example.com", 25, False, None, None)
    assert SmtpServer.at("smtps://mail.example.com") == SmtpServer("mail.example.com", 465, True, None, None)
    assert SmtpServer.at("smtp://a:b%2Fc@[::1]:1025/") == SmtpServer("::1", 1025, False, "a", "b/c")


@pytest.mark.parametrize(
    "url", ["", "localhost:25", "http://localhost", "smtp://", "smtp://h:65536", "smtp://h/inbox", "smtp://:p@h"]
)
def test_a_url_that_names_no_server_is_wrong_usage(url: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["serve", "--port", "0", "--smtp", url])
    assert result.exit_code == 2
    assert "smtp://user:password@127.0.0.1:1025" in result.output

"""A server's address. Nothing here needs the server's own modules, so a port is bound at once."""

from __future__ import annotations

import errno
import os
import socket
from ipaddress import ip_address

BACKLOG = 2048
"""Connections that wait in the system until the server accepts them."""


class CannotListen(Exception):
    """The address cannot be bound; the message has the cause. ``in_use``: by another program."""

    def __init__(self, message: str, *, in_use: bool = False) -> None:
        super().__init__(message)
        self.in_use = in_use


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address. Raises :class:`CannotListen`."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        bound = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        number = getattr(error, "errno", None)
        # The text of the error repeats the address; resolvers have numbers of their own.
        reason = os.strerror(number) if number and not isinstance(error, socket.gaierror) else error
        raise CannotListen(
            f"cannot listen on {host}:{port}: {reason}", in_use=number == errno.EADDRINUSE
        ) from None
    bound.set_inheritable(True)
    return bound


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address, or all addresses of a name."""
    try:
        addresses = [info[4][0] for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
        return all(ip_address(str(address).partition("%")[0]).is_loopback for address in addresses)
    except (OSError, UnicodeError):
        return True  # nothing can be bound there


def url_of(host: str, port: int, *, trust_network: bool) -> str:
    """Return where clients reach a server that listens on this address."""
    # nothing is bound here; a URL needs an address that clients can connect to
    if host in ("0.0.0.0", "::"):  # noqa: S104
        # The name by which neighbours on a network of containers find this one, or loopback.
        host = socket.gethostname().lower() if trust_network else "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

"""The limits of every input: how much of it is read, and what a client gets beyond that.

The table of them is in the guide (``docs/guide/security.md``). ``contract_tests/simulator/hostile``
plays every row.
"""

from __future__ import annotations

from typing import NamedTuple

KIB = 1024
MIB = 1024 * KIB


class Limit(NamedTuple):
    """One limit: ``most`` is the largest amount accepted, in ``unit``; ``beyond`` is its effect."""

    input: str
    most: int
    unit: str
    beyond: str


HEAD = Limit("Head of a request", 256 * KIB, "bytes", "400, and the connection is closed")
HEADERS = Limit("Headers of a request", 1_000, "headers", "400, and the connection is closed")
FRAMING = Limit(
    "Trailers, chunk sizes and chunk extensions",
    16 * KIB,
    "bytes, and 8 for each byte of the body",
    "400, and the connection is closed",
)
PIPELINED = Limit(
    "Requests that wait on one connection", 2_000, "requests", "the connection is closed"
)
CONNECTIONS = Limit("Open connections", 4_096, "connections", "503, and the connection is closed")
HEAD_SECONDS = Limit("Time to send a head", 30, "seconds", "408, and the connection is closed")
BODY_SECONDS = Limit("Time to send a body", 60, "seconds", "408, and the connection is closed")
BODY = Limit("Body", MIB, "bytes", "400")
UNREAD_BODY = Limit(
    "Rest of a body after its response", 64 * MIB, "bytes", "the connection is closed"
)
DEPTH = Limit("Nested objects and arrays of a body", 64, "levels", "400")
VALUES = Limit("Values in a body", 4_000_000, "values", "400")
DIGITS = Limit("Digits of an integer", 300, "digits", "400")
QUERY = Limit("Query", 100, "parameters", "422")
ITEMS = Limit("Array of a body, unless the document sets another `maxItems`", 100, "items", "422")
STRING = Limit(
    "String of a body, unless the document sets another `maxLength`", 5_000, "characters", "422"
)
METADATA = Limit("Metadata", 50, "keys", "422")
METADATA_KEY = Limit("Key of metadata", 500, "characters", "422")
METADATA_VALUE = Limit("Value of metadata", 500, "characters", "422")
FORM = Limit("Form of a buyer's page", 64 * KIB, "bytes", "403: the form counts as empty")
CONSOLE_FORM = Limit("Form of the console, with an uploaded file", 3 * MIB, "bytes", "413")
STREAMS = Limit("Open streams and held polls of a world", 256, "requests", "429")
INBOX_BODY = Limit("Body of a request to an inbox", MIB, "bytes", "400")
INBOX = Limit(
    "Requests that the inboxes of a world store", 1_000, "requests", "the oldest is dropped"
)
INBOX_BYTES = Limit(
    "Bodies that the inboxes of a world store", 8 * MIB, "bytes", "the oldest is dropped"
)
RESPONSE_HEAD = Limit(
    "Head of a webhook receiver's response", 64 * KIB, "bytes", "the delivery fails"
)
RESPONSE_BODY = Limit(
    "Body of a webhook receiver's response", 4 * KIB, "bytes", "the rest is not read"
)
SNAPSHOT = Limit("Imported snapshot", 64 * MIB, "bytes", "400")
WORLDS = Limit(
    "Open worlds, unless `--max-worlds` says otherwise",
    20_000,
    "worlds",
    "the longest unused is dropped or put away",
)
SNAPSHOTS = Limit("Snapshots of a world", 100, "snapshots", "422")

RECEIVER_SECONDS = 10.0
"""Seconds (real time) that a webhook receiver has to respond (Limits)."""

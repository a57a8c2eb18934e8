"""The examiner's own webhook receiver: answers 200, or 500 to events sent to an address that ends with ``/failing``."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Take an event."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        fails = self.path.endswith("/failing") and body.get("type") != "webhook.ping"
        self.send_response(500 if fails else 200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the report is what matters."""


@contextmanager
def receiving() -> Iterator[str]:
    """The address of a receiver on this machine, while it lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/hook"
    finally:
        server.shutdown()
        server.server_close()

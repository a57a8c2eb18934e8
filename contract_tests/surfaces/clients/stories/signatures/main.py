"""One delivery a line: method, endpoint, header, body and time; a line with 1 or 0 for each."""

import base64
import sys

from signatures import is_genuine

for line in sys.stdin:
    method, webhook, header, body, now = line.removesuffix("\n").split("\t")
    text, raw = base64.b64decode(header).decode(), base64.b64decode(body)
    print(int(is_genuine(method, webhook, sys.argv[1], text, raw, int(now))))

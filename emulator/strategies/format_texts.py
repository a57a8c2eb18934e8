"""Texts of each format of the document: valid ones, and some that are not."""

from __future__ import annotations

from datetime import UTC, date, datetime

from hypothesis import strategies as st

LABEL = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
DOMAIN = st.builds("{}.{}".format, LABEL, LABEL)

VALID: dict[str, st.SearchStrategy[str]] = {
    "currency": st.sampled_from(["XAF", "XOF", "EUR", "USD", "JPY", "TND"]),
    "country": st.sampled_from(["GA", "CM", "FR", "US", "KP"]),
    "domain": DOMAIN,
    "e164": st.from_regex(r"\+[1-9][0-9]{6,14}", fullmatch=True),
    "email": st.builds("{}@{}".format, LABEL, DOMAIN),
    "https-uri": st.builds("https://{}/{}".format, DOMAIN, LABEL),
    "uri": st.builds("{}://{}/{}".format, st.sampled_from(["http", "https"]), DOMAIN, LABEL),
    "web-url": st.builds("{}://{}/{}".format, st.sampled_from(["http", "https"]), DOMAIN, LABEL),
    "ipv4-network": st.sampled_from(["127.0.0.1", "127.0.0.0/8", "0.0.0.0/0"]),
    "not-blank": st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=50),
}
"""By format. OpenAPI's own ``date`` and ``date-time`` are in :data:`DATES`: other generators know those already."""

FIRST, LAST = date(2090, 1, 1), date(2098, 12, 31)

DATES: dict[str, st.SearchStrategy[str]] = {
    "date": st.dates(FIRST, LAST).map(date.isoformat),
    "date-time": st.dates(FIRST, LAST).map(lambda day: datetime(day.year, day.month, day.day, tzinfo=UTC).isoformat()),
}
"""Days and instants that are in the future of any world that a test is likely to have."""

INVALID: dict[str, st.SearchStrategy[str]] = {
    "currency": st.sampled_from(["", "xaf", "XA", "ZZZ", "XAF ", "€"]),
    "country": st.sampled_from(["", "ga", "Gabon", "ZZ", "EU", "G"]),
    "domain": st.sampled_from(["", "https://shop.example", "shop example", "-shop.example", "shop..example"]),
    "e164": st.sampled_from(["", "077000000", "+0771234567", "+241 77 00 00 00", "+12345", "+1234567890123456"]),
    "email": st.sampled_from(["", "nope", "a@", "@example.com", "a b@example.com"]),
    "https-uri": st.sampled_from(["", "/thanks", "http://shop.example/", "https://", "shop.example"]),
    "uri": st.sampled_from(["", "/thanks", "shop.example", "https://shop example/"]),
    "web-url": st.sampled_from(["", "/thanks", "shop.example", "ftp://shop.example/", "https://shop example/"]),
    "ipv4-network": st.sampled_from(["", "10.0.0.1/8", "256.0.0.1", "10.0.0.0/33", "::1", "localhost"]),
    "not-blank": st.text(" \t\n", min_size=1, max_size=5),
    "date": st.sampled_from(["", "2090-02-30", "2090-2-3", "03/02/2090", "2090-01-01T00:00:00Z"]),
    "date-time": st.sampled_from(["", "2090-01-01", "2090-01-01T00:00:00", "2090-13-01T00:00:00Z", "tomorrow"]),
}

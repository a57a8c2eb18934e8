"""The errors of forms in the reader's language: the API answers in English, the console translates what it knows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from emulator.core.translatable import N_
from emulator.i18n.language import Language

MESSAGES: Sequence[str] = (
    N_("Several fields are wrong; see errors."),
    N_("is required"),
    N_("unknown field"),
    N_("must be a string"),
    N_("must be an integer"),
    N_("must be a number"),
    N_("must be true or false"),
    N_("must be an object"),
    N_("must be an array"),
    N_("must be one of {values}"),
    N_("must have at least {number} characters"),
    N_("must have at most {number} characters"),
    N_("must be at least {number}"),
    N_("must be at most {number}"),
    N_("must have at least {number} entries"),
    N_("must have at most {number} entries"),
    N_("must match {pattern}"),
    N_("must not repeat an entry"),
    N_("must not be blank"),
    N_("must be an ISO 4217 code in upper case"),
    N_("must be an ISO 3166-1 alpha-2 code in upper case"),
    N_("must be an http:// or https:// URL"),
    N_("must be an email address of at most 254 characters, such as name@example.com"),
    N_("must be a phone number in E.164 form: + and 7 to 15 digits, no spaces or dashes"),
    N_("must be a code of the error model"),
    N_("must hold just one of {values}"),
    N_("does not suit this fault; use {values}"),
    N_("the service has no {name} {value}"),
    N_("is before the clock's present instant, {instant}; the clock never goes back"),
    N_("is after the calendar's end, {instant}"),
    N_("is too long ago; its changes are no longer in the journal"),
    N_("There is no request {id} in the journal."),
    N_("There is no such resource."),
    N_("There is no object {id}."),
    N_("must be a duration such as 31d, 2h, 90s, P1M or PT90S"),
)
"""The messages of validation, with placeholders for what varies."""

_PATTERNS = {
    message: re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(message)), re.DOTALL) for message in MESSAGES
}


def translated(language: Language, message: str, fields: Sequence[str] = ()) -> str:
    """The message of an API error, in which ``field: text`` stands for each wrong field; unknown texts stay."""
    names = "|".join(map(re.escape, fields))
    parts = re.split(rf"(?:^|\s)({names}): ", message) if names else [message]
    texts = [_text(language, parts[0])] if parts[0] else []
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        texts.append(language.gettext("{field}: {text}", field=name, text=_text(language, text)))
    return " ".join(texts)


def _text(language: Language, text: str) -> str:
    """One text, of which several for one field are separated by commas."""
    for message, pattern in _PATTERNS.items():
        if found := pattern.fullmatch(text):
            return language.gettext(message, **found.groupdict())
    return text

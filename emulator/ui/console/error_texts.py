"""The errors of forms in the reader's language: the API answers in English, the console translates what it knows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from emulator.core.errors import ERRORS
from emulator.core.translatable import N_
from emulator.presentation.languages.language import Language

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
    N_("comes to {amount}; must be at least {number}"),
    N_("comes to {amount}; must be at most {number}"),
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
    N_("There is no email {id}."),
    N_("must be an ISO 8601 date or instant, such as 2026-01-31 or 2026-01-31T09:30:00Z; a + in a URL is written %2B"),
    N_("must be an ISO 8601 date or instant, such as 2026-01-31 or 2026-01-31T09:30:00Z"),
    N_("unknown parameter; must be one of {values}"),
    N_("unknown parameter"),
    N_("must have at least {number} keys"),
    N_("must have at most {number} keys"),
    N_("keys have at most {number} characters"),
    N_("keys have at least 1 character"),
    N_("must be a duration such as 31d, 2h, 90s, P1M or PT90S"),
    N_("A payment of this {object} is under way."),
    N_("This payment link is {status}: it takes no payment."),
    N_("A phone has a number in E.164, such as +24177123456."),
    N_("A snapshot has a name of 1 to 64 of A-Z a-z 0-9 . _ -, which is not . or .."),
    N_("An inbox has a name of 1 to 64 of A-Z a-z 0-9 . _ ~ -."),
    N_("Idempotency-Key: must have 1 to 255 printable ASCII characters"),
    N_("Only a sandbox can be reset; this is a production key."),
    N_("The Starter plan has no security profiles."),
    N_("The body is larger than {number} bytes."),
    N_("The body must be a JSON object: {reason}."),
    N_("The query has more than {number} parameters."),
    N_("The sandbox is stopping."),
    N_("The token does not open this invoice; take pdf_url as it is."),
    N_("There is more than one Authorization header."),
    N_("There is no advance {id}."),
    N_("There is no snapshot {name}."),
    N_("There is no {path} here."),
    N_("There is nothing at {path}; the service is below /v1/."),
    N_("{path} is not found. Add the trailing slash: {other}"),
    N_("{path} is not found. Remove the trailing slash: {other}"),
    N_("No such prompt waits on {phone}."),
    N_("No prompt waits on {phone}."),
    N_("{number} advances are under way already."),
    N_("cannot be changed"),
    N_("cannot be given beside a line with a plan"),
    N_("cannot be given beside a plan"),
    N_("cannot be given beside a product whose price is fixed"),
    N_("cannot be given beside a product, whose name is billed"),
    N_("cannot be given beside customer"),
    N_("does not belong to a method of type {type}"),
    N_("goes with the answer approve only"),
    N_("goes with the mode subscription only"),
    N_("goes with the result failed only"),
    N_("goes with the validity type limited only"),
    N_("goes without a probability"),
    N_("is a link-local or cloud metadata address, which is never called"),
    N_("is before the clock's present instant, {instant}"),
    N_("is before the request of since"),
    N_("is created by the trigger; give its fields, or leave it out"),
    N_("is no override of {type} here; there are: {names}"),
    N_("is not completed, or nothing of it is left"),
    N_("is not sold through this link"),
    N_("is not the buyer's to choose here"),
    N_("is required beside a product whose price is free"),
    N_("is the email of another customer"),
    N_("is the sku of {product} already"),
    N_("is the {field} of another {kind}"),
    N_("it is {status}, and no transaction comes of it"),
    N_("keys are known from the start of the server; leave them out"),
    N_("must be 1 on a line with a plan"),
    N_("must be an App's name: 1 to 64 of A-Z a-z 0-9 _ -"),
    N_("must be an IBAN: a country, two check digits, and the account's number"),
    N_("must be an active method of this customer"),
    N_("must be an integer from {least} to {most}"),
    N_("must be in the future"),
    N_("must be running, frozen, or frozen@ and an instant such as 2026-01-01T00:00:00Z"),
    N_('must be types of event, or ["*"] alone for all'),
    N_("must equal the plan's, {value}"),
    N_("must equal the product's, {value}"),
    N_("must have an email, to which renewals are notified"),
    N_("must have at most {number} keys; {left} would be left"),
    N_("must have no user name or password in it; they would show up in logs"),
    N_("must name at least one product"),
    N_("must not be empty but in setup mode"),
    N_("must not be in the past"),
    N_("needs a status whose responses have a body"),
    N_("needs one of {names}"),
    N_("only one line may hold a plan"),
    N_("the App does not cover {country}; it covers {countries}"),
    N_("the card has expired"),
    N_("the check digit (Luhn) is wrong"),
    N_("the check digits or the length are wrong"),
    N_("the ping was not answered with a 2xx: {reason}"),
    N_("there are only {number} requests in the journal"),
    N_("there are {number} snapshots; delete one first"),
    N_("this method belongs to another customer"),
    N_("this method is {status}"),
    N_("this plan is deactivated"),
    N_("this product is archived"),
    N_("{code} is no error code"),
    N_("{currency} is not enabled"),
    N_("{type} is not allowed here"),
    N_("{plan} charges {currency}, not {other}"),
    N_("{product} is sold in {currency}, not in {other}"),
    N_("there is no field {field}: the fields are {names}"),
    N_("there is no field {field}: there are none"),
    N_("{type} does not come of this {object}; it is {status}, for {code}"),
    N_("{type} does not come of this {object}; it is {status}"),
    N_("must be an https:// URL"),
    N_("must be an https:// URL; http:// is for loopback hosts only"),
    N_("there is no field {field}: {present}"),
    N_("{type} does not come of this {object}; {present}"),
    N_("give a product, or a description with a unit_amount"),
    N_("is required on a line without a product"),
    N_("is required: renewals are notified to it"),
    N_("is required: the method is saved for a customer"),
    N_("is required: the buyer says how much"),
    N_("is required: the link sells several"),
    N_("is required: the link collects it"),
    N_("is required but in setup mode"),
    N_("must be a date YYYY-MM-DD"),
    N_("must be a bare domain name: no protocol, port, path or wildcard"),
    N_("must be an IPv4 address or a CIDR range without host bits"),
)
"""The messages of validation, and those that an error has in place of its default one; placeholders for what varies."""


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """The pattern of each message, those of the table of errors included."""
    messages = (*MESSAGES, *(row.message for row in ERRORS.values()))
    return {
        message: re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(message)), re.DOTALL)
        for message in messages
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
    for message, pattern in _patterns().items():
        if found := pattern.fullmatch(text):
            return language.gettext(message, **found.groupdict())
    return text

"""The API errors of the service: one row for each code, and the exception that rules raise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

CATEGORIES = {
    401: "AUTHENTICATION_ERROR",
    403: "PERMISSION_ERROR",
    404: "NOT_FOUND_ERROR",
    409: "CONFLICT_ERROR",
    429: "RATE_LIMIT_ERROR",
    500: "API_ERROR",
}
"""The category of the codes of each status; that of any other status is a validation error."""


class ErrorSpec(NamedTuple):
    """What one code means: its HTTP status and its default message."""

    status: int
    message: str
    flat: str | None = None
    """The code in the flat error shape, if the service documents the nested one (B-10)."""
    public_code: str | None = None
    """The code sent to clients, if the service's error model lacks the error's own."""
    plain: str = ""
    """The message where nothing is known to fill into the default one: that of a forced error
    (B-94).
    """

    @property
    def category(self) -> str:
        return CATEGORIES.get(self.status, "VALIDATION_ERROR")


ERRORS: dict[str, ErrorSpec] = {
    "MISSING_API_KEY": ErrorSpec(
        401, "There is no API key. Send it as 'Authorization: Bearer sk_test_…'."
    ),
    "INVALID_API_KEY": ErrorSpec(401, "This API key is not known or was revoked."),
    "EXPIRED_API_KEY": ErrorSpec(401, "This API key has expired."),
    "INVALID_TOKEN": ErrorSpec(
        401,
        "This is not a valid API key format: use sk_test_NAME or sk_prod_NAME, "
        "where NAME is 1 to 64 characters of A-Z a-z 0-9 _ -.",
    ),
    "AUTHENTICATION_FAILED": ErrorSpec(
        401, "The Authorization header must read 'Bearer' followed by an API key."
    ),
    "PERMISSION_DENIED": ErrorSpec(403, "This action is not allowed."),
    "PUBLIC_KEY_NOT_ALLOWED": ErrorSpec(
        403, "A public key cannot be used here; use the secret key."
    ),
    "APP_DISABLED": ErrorSpec(403, "This App is disabled."),
    "APP_NOT_VERIFIED": ErrorSpec(403, "This App is not verified yet: its KYC is pending."),
    "INSUFFICIENT_PERMISSIONS": ErrorSpec(
        403, "The key or the pricing plan does not permit this action."
    ),
    "SANDBOX_ONLY": ErrorSpec(403, "This route is for sandbox keys only: sk_test_NAME."),
    "CURRENCY_NOT_IN_PLAN": ErrorSpec(
        403,
        "The currency {currency} is not enabled on this App.",
        plain="This currency is not enabled on this App.",
    ),
    "COMPANY_BLACKLISTED": ErrorSpec(403, "The company is blacklisted."),
    "COMPANY_PAYMENTS_DISABLED": ErrorSpec(403, "Payments are disabled for the company."),
    "COMPANY_PAYOUTS_DISABLED": ErrorSpec(403, "Payouts and refunds are disabled for the company."),
    "COMPANY_SANDBOX_ONLY": ErrorSpec(403, "The company may use the sandbox only."),
    "COMPANY_KYC_REQUIRED": ErrorSpec(403, "The company must complete its KYC file first."),
    "NOT_FOUND": ErrorSpec(404, "There is no such resource."),
    "CUSTOMER_NOT_FOUND": ErrorSpec(
        404,
        "There is no customer {id}.",
        plain="There is no such customer.",
    ),
    "PRODUCT_NOT_FOUND": ErrorSpec(
        404,
        "There is no product {id}.",
        plain="There is no such product.",
    ),
    "PAYMENT_INTENT_NOT_FOUND": ErrorSpec(
        404,
        "There is no payment intent {id}.",
        plain="There is no such payment intent.",
    ),
    "TRANSACTION_NOT_FOUND": ErrorSpec(
        404,
        "There is no transaction {id}.",
        plain="There is no such transaction.",
    ),
    "REFUND_NOT_FOUND": ErrorSpec(
        404,
        "There is no refund {id}.",
        plain="There is no such refund.",
    ),
    "INVOICE_NOT_FOUND": ErrorSpec(
        404,
        "There is no invoice {id}.",
        plain="There is no such invoice.",
    ),
    "SUBSCRIPTION_NOT_FOUND": ErrorSpec(
        404,
        "There is no subscription {id}.",
        plain="There is no such subscription.",
    ),
    "CHECKOUT_SESSION_NOT_FOUND": ErrorSpec(
        404,
        "There is no checkout session {id}.",
        plain="There is no such checkout session.",
    ),
    "PAYMENT_METHOD_NOT_FOUND": ErrorSpec(
        404,
        "There is no payment method {id}.",
        plain="There is no such payment method.",
    ),
    "PAYMENT_LINK_NOT_FOUND": ErrorSpec(
        404,
        "There is no payment link {id}.",
        plain="There is no such payment link.",
    ),
    "RECEIPT_NOT_FOUND": ErrorSpec(
        404,
        "There is no receipt {id}.",
        plain="There is no such receipt.",
    ),
    "WEBHOOK_NOT_FOUND": ErrorSpec(
        404,
        "There is no webhook endpoint {id}.",
        plain="There is no such webhook endpoint.",
    ),
    "SEARCH_NO_RESULTS": ErrorSpec(404, "The search found nothing."),
    "PDF_NOT_AVAILABLE": ErrorSpec(404, "A draft has no PDF; finalize the invoice first."),
    "METHOD_NOT_ALLOWED": ErrorSpec(
        405,
        "The method {method} is not allowed here; allowed: {allow}.",
        plain="This method is not allowed here.",
    ),
    "IDEMPOTENCY_CONFLICT": ErrorSpec(
        409, "This Idempotency-Key was used with another request, or its request is still running."
    ),
    "DUPLICATE_EMAIL": ErrorSpec(409, "A customer with this email exists already."),
    "DUPLICATE_SKU": ErrorSpec(409, "A product with this sku exists already."),
    "PLAN_IN_USE": ErrorSpec(
        409,
        "This plan still has active or trialing subscriptions.",
        public_code="INVALID_STATUS_TRANSITION",
    ),
    "DELIVERY_UNDER_WAY": ErrorSpec(
        409,
        "The delivery {delivery} is still waiting for your response, so the clock cannot move."
        " Respond first, or advance with 'Prefer: respond-async'.",
        public_code="INVALID_STATUS_TRANSITION",
        plain="A delivery is still waiting for your response, so the clock cannot move.",
    ),
    "customer_email_exists": ErrorSpec(
        409, "A customer with this email exists already.", "DUPLICATE_EMAIL"
    ),
    "transaction_not_refundable": ErrorSpec(
        409,
        "Only a completed transaction with an unrefunded balance can be refunded.",
        "INVALID_STATUS_TRANSITION",
    ),
    "refund_amount_exceeds_available": ErrorSpec(
        400,
        "The amount exceeds the refundable balance of {available}.",
        "AMOUNT_TOO_LARGE",
        plain="The amount exceeds this refundable balance.",
    ),
    "VALIDATION_ERROR": ErrorSpec(
        422,
        "Invalid fields: {fields}.",
        plain="This request has invalid fields.",
    ),
    "MISSING_FIELD": ErrorSpec(
        422,
        "The field {field} is required.",
        plain="This field is required.",
    ),
    "INVALID_FIELD": ErrorSpec(
        422,
        "The field {field} is wrong.",
        plain="This field is wrong.",
    ),
    "INVALID_FILTER_PARAM": ErrorSpec(
        422,
        "The query parameter {field} is wrong.",
        plain="This query parameter is wrong.",
    ),
    "INVALID_CURRENCY": ErrorSpec(422, "The currency must be an ISO 4217 code in upper case."),
    "AMOUNT_TOO_SMALL": ErrorSpec(
        422,
        "The amount must be at least {minimum}.",
        plain="This amount is too small.",
    ),
    "AMOUNT_TOO_LARGE": ErrorSpec(
        422,
        "The amount must be at most {maximum}.",
        plain="This amount is too large.",
    ),
    "INVALID_STATUS_TRANSITION": ErrorSpec(
        422,
        "This {object} is {status}: it cannot {trigger}.",
        plain="The status of this object does not allow this.",
    ),
    "PAYMENT_INTENT_UNCANCELABLE": ErrorSpec(
        422,
        "A payment intent that is {status} cannot be canceled.",
        plain="A payment intent of this status cannot be canceled.",
    ),
    "PAYMENT_INTENT_NOT_CONFIRMABLE": ErrorSpec(
        422,
        "A payment intent that is {status} cannot be confirmed.",
        plain="A payment intent of this status cannot be confirmed.",
    ),
    "PAYMENT_INTENT_NOT_CAPTURABLE": ErrorSpec(
        422,
        "A payment intent that is {status} cannot be captured.",
        plain="A payment intent of this status cannot be captured.",
    ),
    "CAPTURE_AMOUNT_EXCEEDS_ORIGINAL": ErrorSpec(
        422,
        "The amount is more than the {available} authorised.",
        plain="This amount is more than was authorised.",
    ),
    "CHECKOUT_SESSION_EXPIRED": ErrorSpec(422, "The checkout session has expired."),
    "SUBSCRIPTION_ALREADY_CANCELED": ErrorSpec(422, "The subscription is canceled already."),
    "INVOICE_NOT_DRAFTABLE": ErrorSpec(
        422,
        "Only a draft invoice can be changed; this one is {status}.",
        plain="Only a draft invoice can be changed; this one is no draft.",
    ),
    # The payment failed (B-14).
    "INSUFFICIENT_FUNDS": ErrorSpec(422, "The buyer's funds are insufficient."),
    "PAYMENT_METHOD_NOT_SUPPORTED": ErrorSpec(
        422, "The payment method is not supported or was declined."
    ),
    "MOBILE_MONEY_TIMEOUT": ErrorSpec(422, "The buyer did not confirm on the phone in time."),
    "MOBILE_MONEY_REJECTED": ErrorSpec(422, "The buyer rejected the payment on the phone."),
    "MOBILE_MONEY_NUMBER_INVALID": ErrorSpec(422, "The mobile money number is not valid."),
    "MOBILE_MONEY_LIMIT_REACHED": ErrorSpec(422, "The buyer's mobile money limit is reached."),
    "CUSTOMER_BLACKLISTED": ErrorSpec(422, "The customer is blacklisted or blocked."),
    # A third party failed (B-14).
    "WEBHOOK_SIGNATURE_INVALID": ErrorSpec(422, "The webhook signature does not match."),
    "WEBHOOK_ENDPOINT_UNREACHABLE": ErrorSpec(
        422,
        "The endpoint did not answer the validation ping with a 2xx within 10 seconds: {reason}.",
        plain="This endpoint did not answer the validation ping with a 2xx within 10 seconds.",
    ),
    "TERMINAL_OFFLINE": ErrorSpec(422, "The terminal is offline."),
    # The service itself refuses or fails.
    "RATE_LIMIT_EXCEEDED": ErrorSpec(
        429,
        "The rate limit is reached; wait {retry_after} s.",
        plain="The rate limit is reached.",
    ),
    "TOO_MANY_REQUESTS": ErrorSpec(
        429,
        "There are too many requests of this key at once; wait {retry_after} s.",
        plain="There are too many requests of this key at once.",
    ),
    "INTERNAL_ERROR": ErrorSpec(500, "Something went wrong inside the service."),
    "DATABASE_ERROR": ErrorSpec(500, "The database failed."),
    "UPSTREAM_ERROR": ErrorSpec(500, "The payment operator failed."),
}

CODES = tuple(code for code, row in ERRORS.items() if row.public_code is None)
"""The codes of the error model: those that a client can be sent."""


def _filled_in(row: ErrorSpec, details: Mapping[str, object]) -> str:
    """Return the default message with its details, or the plain one where it lacks any of them."""
    known = {name: value for name, value in details.items() if value is not None}
    try:
        return row.message.format_map(known)
    except KeyError:
        return row.plain


class ApiError(Exception):
    """An error response of the service (section "Errors" of the specification; B-10 to B-15).

    ``code`` is a key of :data:`ERRORS`. ``param`` names the invalid field, ``errors`` maps fields
    to their messages. Further keywords fill the placeholders of the default message, all of them or
    none; ``message`` replaces it and ``http_status`` the default status (only B-12 needs that:
    ``VALIDATION_ERROR`` with 400). ``retry_after`` is in seconds.
    """

    def __init__(
        self,
        code: str,
        *,
        param: str | None = None,
        errors: Mapping[str, list[str]] | None = None,
        message: str | None = None,
        http_status: int | None = None,
        headers: Mapping[str, str] | None = None,
        retry_after: int | None = None,
        **details: object,
    ) -> None:
        row = ERRORS[code]
        self.code: str = row.public_code or code
        self.category: str = row.category
        self.status: int = http_status or row.status
        known = {**details, "field": param, "retry_after": retry_after}
        self.message: str = message or _filled_in(row, known)
        self.param = param
        self.errors: dict[str, list[str]] | None = dict(errors) if errors else None
        self.headers: dict[str, str] = dict(headers or {})
        self.retry_after = retry_after
        super().__init__(f"{code}: {self.message}")


def invalid_field(param: str, message: str, code: str = "INVALID_FIELD") -> ApiError:
    """Return the 422 for one invalid field, named in ``param`` and ``errors`` (B-11)."""
    return ApiError(code, param=param, errors={param: [message]}, message=f"{param}: {message}")


def combine(violations: Sequence[ApiError]) -> ApiError:
    """Return one error for all: a single field's own code, or ``VALIDATION_ERROR`` (B-12)."""
    first = violations[0]
    errors: dict[str, list[str]] = {}
    for error in violations:
        for field, messages in (error.errors or {}).items():
            errors[field] = [*dict.fromkeys([*errors.get(field, ()), *messages])]
    if len(errors) > 1:
        return ApiError("VALIDATION_ERROR", errors=errors, fields=named(errors))
    return (
        first
        if len(violations) == 1
        else ApiError(first.code, param=first.param, errors=errors, message=first.message)
    )


def named(fields: Iterable[str]) -> str:
    """Return the names of fields in one line, the first ten of them."""
    names = list(fields)
    return ", ".join([*names[:10], "…"] if len(names) > 10 else names)


def nest(name: str, error: ApiError) -> ApiError:
    """Return the same error, for a field inside the field ``name``."""
    errors = {f"{name}.{field}": messages for field, messages in (error.errors or {}).items()}
    if error.param is None:
        return ApiError(error.code, errors=errors, message=error.message)
    names_field = error.message.startswith(f"{error.param}: ")
    message = f"{name}.{error.message}" if names_field else error.message
    return ApiError(error.code, param=f"{name}.{error.param}", errors=errors, message=message)


def missing_field(param: str, message: str = "is required") -> ApiError:
    """Return the 422 ``MISSING_FIELD`` for a required field that was not sent (B-12)."""
    return invalid_field(param, message, "MISSING_FIELD")

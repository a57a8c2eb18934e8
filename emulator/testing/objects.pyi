"""The service's objects for type checkers. Written from the OpenAPI documents, not by hand."""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

Ref: TypeAlias = str | Mapping[str, Any]

class Customer(TypedDict):
    id: str
    object: Literal["customer"]
    app: str
    email: str | None
    firstname: str
    lastname: str
    phone: str | None
    address: Address | None
    status: CustomerStatus
    is_blacklisted: bool
    transactions_count: int
    total_spent: int
    currency: str
    metadata: dict[str, Any]
    created_at: str
    updated_at: str

class Address(TypedDict):
    id: str
    object: Literal["address"]
    customer: str
    line1: str
    line2: str | None
    city: str
    state: str | None
    postal_code: str | None
    country: str
    is_default: bool
    created_at: str
    updated_at: str

CustomerStatus: TypeAlias = Literal["active", "inactive", "blocked"]

class PaymentMethod(TypedDict):
    id: str
    object: Literal["payment_method"]
    app: str
    customer: str
    type: PaymentMethodType
    status: PaymentMethodStatus
    is_default: bool
    details: PaymentMethodDetails
    metadata: dict[str, Any]
    livemode: bool
    created_at: str
    updated_at: str

PaymentMethodType: TypeAlias = Literal["mobile_money", "bank_card", "bank_transfer", "paypal"]
PaymentMethodStatus: TypeAlias = Literal["active", "inactive", "expired"]

class PaymentMethodDetails(TypedDict):
    operator: NotRequired[str | None]
    phone: NotRequired[str]
    country: NotRequired[str | None]
    brand: NotRequired[str]
    last4: NotRequired[str]
    exp_month: NotRequired[int]
    exp_year: NotRequired[int]
    bank: NotRequired[str | None]
    email: NotRequired[str]

class Product(TypedDict):
    id: str
    object: Literal["product"]
    app: str
    name: str
    description: str | None
    images: list[str]
    unit_amount: int
    currency: str
    price_type: PriceType
    active: bool
    metadata: dict[str, Any]
    livemode: bool
    created_at: str
    updated_at: str

PriceType: TypeAlias = Literal["fixed", "free"]

class SubscriptionPlan(TypedDict):
    id: str
    object: Literal["subscription_plan"]
    name: str
    description: str | None
    amount: int
    currency: str
    interval: Interval
    interval_count: int
    trial_period_days: int
    active: bool
    metadata: dict[str, Any]
    livemode: bool
    created_at: str
    updated_at: str

Interval: TypeAlias = Literal["day", "week", "month", "year"]

class Subscription(TypedDict):
    id: str
    object: Literal["subscription"]
    app: str
    customer: str
    status: SubscriptionStatus
    currency: str
    unit_amount: int
    interval: Interval
    interval_count: int
    collection_method: CollectionMethod
    current_period_start: str
    current_period_end: str
    trial_start: str | None
    trial_end: str | None
    canceled_at: str | None
    cancel_at_period_end: bool
    payment_method: str | None
    plan: str | None
    product: str | None
    ends_at: str | None
    metadata: dict[str, Any]
    created_at: str
    updated_at: str

SubscriptionStatus: TypeAlias = Literal[
    "trialing", "active", "past_due", "paused", "canceled", "unpaid", "expired"
]
CollectionMethod: TypeAlias = Literal["charge_automatically", "send_invoice"]

class CheckoutSession(TypedDict):
    id: str
    object: Literal["checkout_session"]
    mode: CheckoutMode
    status: CheckoutSessionStatus
    currency: str
    amount_total: int
    amount_subtotal: int
    payment_intent: str | None
    customer: str | None
    customer_email: str | None
    url: str
    success_url: str | None
    cancel_url: str | None
    line_items: list[CheckoutLine]
    payment_method_types: list[PaymentMethodType]
    expires_at: str
    metadata: dict[str, Any]
    livemode: bool
    created_at: str

CheckoutMode: TypeAlias = Literal["payment", "subscription", "setup"]
CheckoutSessionStatus: TypeAlias = Literal[
    "open", "processing", "complete", "expired", "payment_failed"
]

class CheckoutLine(TypedDict):
    product: str | None
    description: str
    quantity: int
    unit_amount: int
    amount_total: int

class PaymentLink(TypedDict):
    id: str
    object: Literal["payment_link"]
    name: str | None
    url: str
    payment_link_type: PaymentLinkType
    currency: str
    amount: int | None
    products: list[str]
    status: PaymentLinkStatus
    validity_type: ValidityType
    max_usage: int | None
    usage_count: int
    expires_at: str | None
    redirect_url: RedirectUrl
    payment_method_types: list[PaymentMethodType]
    collect_customer_info: bool
    allow_quantity: bool
    metadata: dict[str, Any]
    livemode: bool
    created_at: str
    updated_at: str

PaymentLinkType: TypeAlias = Literal["product", "custom", "donation"]
PaymentLinkStatus: TypeAlias = Literal["active", "archived"]
ValidityType: TypeAlias = Literal["unlimited", "limited", "one_time"]

class RedirectUrl(TypedDict):
    success: str | None
    cancel: str | None

class PaymentIntent(TypedDict):
    id: str
    object: Literal["payment_intent"]
    app: str
    amount: int
    amount_capturable: int
    amount_received: int
    currency: str
    status: PaymentIntentStatus
    capture_method: CaptureMethod
    customer: str | None
    customer_email: str | None
    payment_method: str | None
    payment_method_type: PaymentMethodType | None
    payment_method_types: list[PaymentMethodType]
    description: str | None
    next_action: NextAction | None
    last_error: PaymentError | None
    checkout_session: str | None
    payment_link: str | None
    invoice: str | None
    subscription: str | None
    transaction: str | None
    metadata: dict[str, Any]
    canceled_at: str | None
    livemode: bool
    created_at: str
    updated_at: str

PaymentIntentStatus: TypeAlias = Literal[
    "requires_payment_method",
    "requires_confirmation",
    "requires_action",
    "processing",
    "requires_capture",
    "succeeded",
    "canceled",
]
CaptureMethod: TypeAlias = Literal["automatic", "manual"]

class NextAction(TypedDict):
    type: Literal["confirm_on_phone", "confirm_card", "redirect"]
    phone: NotRequired[str]
    url: NotRequired[str]
    expires_at: NotRequired[str]

class PaymentError(TypedDict):
    code: str
    message: str

class Transaction(TypedDict):
    id: str
    object: Literal["transaction"]
    app: str
    amount: int
    amount_refunded: int
    fee: int
    fee_rate: float
    commission: int
    commission_rate: float
    net_amount: int
    currency: str
    status: TransactionStatus
    type: TransactionType
    description: str | None
    payment_intent: str | None
    customer: str | None
    payment_method_type: PaymentMethodType
    operator: str | None
    processed_at: str | None
    metadata: dict[str, Any]
    livemode: bool
    created_at: str
    updated_at: str

TransactionStatus: TypeAlias = Literal[
    "approved", "pending", "completed", "failed", "refunded", "disputed", "canceled"
]
TransactionType: TypeAlias = Literal["deposit", "refund", "payout", "withdraw", "transfer"]

class Invoice(TypedDict):
    id: str
    object: Literal["invoice"]
    invoice_number: str
    status: InvoiceStatus
    customer: str
    customer_email: str | None
    subscription: str | None
    payment_intent: str | None
    transaction: str | None
    currency: str
    subtotal: int
    tax_amount: int
    discount_amount: int
    total: int
    amount_paid: int
    amount_remaining: int
    due_date: str | None
    description: str | None
    footer: str | None
    payment_url: str | None
    pdf_url: str | None
    line_items: list[InvoiceLine]
    metadata: dict[str, Any]
    livemode: bool
    created_at: str
    updated_at: str

InvoiceStatus: TypeAlias = Literal["draft", "open", "paid", "void", "uncollectible"]

class InvoiceLine(TypedDict):
    product: str | None
    description: str
    quantity: int
    unit_amount: int
    amount: int

class Refund(TypedDict):
    id: str
    object: Literal["refund"]
    transaction: str
    amount: int
    currency: str
    status: RefundStatus
    reason: RefundReason | None
    description: str | None
    failure_reason: str | None
    payment_method_type: PaymentMethodType
    refunded_at: str | None
    metadata: dict[str, Any]
    livemode: bool
    created_at: str
    updated_at: str

RefundStatus: TypeAlias = Literal[
    "pending", "processing", "succeeded", "failed", "cancelled", "expired"
]
RefundReason: TypeAlias = Literal[
    "duplicate", "fraudulent", "customer_request", "product_issue", "service_not_rendered"
]

class Receipt(TypedDict):
    id: str
    object: Literal["receipt"]
    app: str
    number: str
    transaction: str
    customer: str | None
    customer_email: str | None
    amount: int
    currency: str
    url: str
    livemode: bool
    created_at: str

class SecurityProfile(TypedDict):
    id: str
    object: Literal["security_profile"]
    name: str
    allowed_ips: list[str]
    allowed_domains: list[str]
    max_amount: int | None
    allowed_payment_methods: list[AllowedPaymentMethodType]
    blocked_countries: list[str]
    livemode: bool
    created_at: str
    updated_at: str

AllowedPaymentMethodType: TypeAlias = Literal["mobile_money", "bank_card", "bank_transfer"]

class WebhookEndpointWithSecret(TypedDict):
    id: str
    object: Literal["webhook_endpoint"]
    app: str
    name: str
    url: str
    events: list[EventSelector]
    security_profile: SigningMethod
    ssl_verification: bool
    retry_policy: RetryPolicy
    enabled: bool
    metadata: dict[str, Any]
    livemode: bool
    created_at: str
    updated_at: str
    secret: str

EventSelector: TypeAlias = Literal[
    "*",
    "payment_intent.succeeded",
    "payment_intent.failed",
    "transaction.succeeded",
    "refund.succeeded",
    "refund.failed",
    "invoice.paid",
    "invoice.payment_overdue",
    "checkout.session.completed",
    "subscription.created",
    "subscription.canceled",
    "subscription.payment_failed",
    "subscription.trial_will_end",
    "customer.created",
    "customer.deleted",
]
SigningMethod: TypeAlias = Literal["HMAC_SHA256", "JWT", "BASIC"]

class RetryPolicy(TypedDict):
    max_attempts: int
    backoff_type: BackoffType

BackoffType: TypeAlias = Literal["exponential", "linear"]

class Event(TypedDict):
    id: str
    object: Literal["event"]
    type: EventType
    api_version: Literal["v1"]
    app: str
    livemode: bool
    created_at: str
    request: str | None
    data: EventData

EventType: TypeAlias = Literal[
    "payment_intent.succeeded",
    "payment_intent.failed",
    "transaction.succeeded",
    "refund.succeeded",
    "refund.failed",
    "invoice.paid",
    "invoice.payment_overdue",
    "checkout.session.completed",
    "subscription.created",
    "subscription.canceled",
    "subscription.payment_failed",
    "subscription.trial_will_end",
    "customer.created",
    "customer.deleted",
    "webhook.ping",
    "webhook.test",
]

class EventData(TypedDict):
    object: dict[str, Any]
    metadata: NotRequired[CarriedMetadata]

class CarriedMetadata(TypedDict):
    plan: NotRequired[dict[str, Any]]
    product: NotRequired[dict[str, Any]]
    payment_link: NotRequired[dict[str, Any]]

Email = TypedDict(
    "Email",
    {
        "id": str,
        "object": Literal["email"],
        "kind": EmailKind,
        "to": str,
        "from": str,
        "subject": str,
        "language": str,
        "customer": str | None,
        "invoice": str | None,
        "subscription": str | None,
        "transaction": str | None,
        "receipt": str | None,
        "refund": str | None,
        "attachments": list[EmailAttachment],
        "created_at": str,
    },
)
EmailKind: TypeAlias = Literal[
    "invoice", "receipt", "renewal_failed", "trial_ending", "subscription_canceled", "refund"
]

class EmailAttachment(TypedDict):
    filename: str
    content_type: str

class Clock(TypedDict):
    now: str
    mode: ClockMode
    rate: float
    lag: float
    next_due_at: str | None
    pending: int

ClockMode: TypeAlias = Literal["running", "frozen"]
ClockAdvance = TypedDict(
    "ClockAdvance",
    {
        "from": str,
        "now": str,
        "jobs": int,
        "events": dict[str, int],
        "deliveries": DeliveryCount,
        "failures": list[JobFailure],
    },
)

class DeliveryCount(TypedDict):
    succeeded: int
    failed: int

class JobFailure(TypedDict):
    job: str
    kind: str
    object: str | None
    error: str

class ScheduledJob(TypedDict):
    due_at: str
    kind: str
    object: str | None
    summary: str
    times: NotRequired[int]
    object_ids: NotRequired[list[str]]
    event_types: NotRequired[list[EventType]]

class LedgerEntry(TypedDict):
    object: str
    account: str
    amount: int
    currency: str
    at: str
    cause: LedgerCause

class LedgerCause(TypedDict):
    id: str | None
    summary: str

class Outcome(TypedDict):
    id: str
    object: Literal["outcome"]
    operation: OutcomeOperation
    result: OutcomeResult
    code: str | None
    times: int
    match: OutcomeMatch
    created_at: str

OutcomeOperation: TypeAlias = Literal["payment", "refund", "delivery"]
OutcomeResult: TypeAlias = Literal["succeeded", "failed"]

class OutcomeMatch(TypedDict):
    customer: str | None
    amount: int | None
    payment_method_type: PaymentMethodType | None

class Fault(TypedDict):
    id: str
    object: Literal["fault"]
    match: FaultMatch
    times: int | None
    probability: float | None
    then: FaultThen
    starts_at: str | None
    ends_at: str | None
    created_at: str

class FaultMatch(TypedDict):
    operation: NotRequired[str]
    method: NotRequired[Literal["GET", "POST", "PATCH", "DELETE"]]
    path: NotRequired[str]
    customer: NotRequired[str]
    event: NotRequired[EventType]
    webhook: NotRequired[str]
    operator: NotRequired[str]
    payment_method_type: NotRequired[str]
    nth: NotRequired[int]

class FaultThen(TypedDict):
    code: NotRequired[str | NestedErrorCode]
    status: NotRequired[int]
    body: NotRequired[Any]
    delay_ms: NotRequired[int]
    executed: NotRequired[Literal[True]]
    hold_ms: NotRequired[int]
    hang_ms: NotRequired[int]
    drop: NotRequired[Literal["before", "after"]]
    garble: NotRequired[Literal[True]]
    repeat: NotRequired[Literal[True]]
    page_size: NotRequired[int]
    duplicate: NotRequired[int]
    together: NotRequired[Literal[True]]
    delay: NotRequired[str]
    reorder: NotRequired[Literal[True]]
    overlap: NotRequired[Literal[True] | str]
    lose: NotRequired[Literal[True]]
    tamper: NotRequired[Literal[True]]
    forge: NotRequired[Literal[True]]
    late_response: NotRequired[Literal[True]]
    again: NotRequired[str]
    reissue: NotRequired[Literal[True]]
    outage: NotRequired[Literal["declined", "silent"]]
    answer_after: NotRequired[str]
    refused: NotRequired[Literal[True]]
    result: NotRequired[Literal["succeeded", "failed"]]
    returns: NotRequired[Literal[True]]
    refund_after: NotRequired[str]
    early_return: NotRequired[Literal[True]]

NestedErrorCode: TypeAlias = Literal[
    "customer_email_exists", "refund_amount_exceeds_available", "transaction_not_refundable"
]

class Settings(TypedDict):
    main_currency: str
    currencies: list[str]
    countries: list[str]
    pricing_plan: Literal["starter", "growth", "business", "enterprise"]
    commission_rate: float
    tax_rate: float
    minimum_amount: int
    maximum_amount: int
    error_shape: Literal["documented", "flat", "nested"]
    unknown_fields: Literal["reject", "ignore"]
    rate_limit: RateLimit | None
    concurrency_limit: int | None
    renewal_retry_days: list[int]
    reactivation_days: int
    operator_delay: float
    confirmation_timeout: int
    mobile_money: Literal["auto", "handset"]
    refund_timing: Literal["documented", "instant"]
    refund_review: bool
    refund_expiry_days: int
    webhook_http: Literal["loopback", "never", "any"]
    trusted_proxies: list[str]
    merchant: Merchant | None
    assumptions: Assumptions

class RateLimit(TypedDict):
    per_second: float
    burst: int

class Merchant(TypedDict):
    name: NotRequired[str | None]
    address: NotRequired[list[str]]
    tax_number: NotRequired[str | None]
    email: NotRequired[str | None]
    phone: NotRequired[str | None]
    logo: NotRequired[str | None]

class Assumptions(TypedDict):
    search_nothing_found: Literal["empty", "error"]
    metadata_values: Literal["scalars", "any"]
    renewal_without_method: Literal["invoice", "fail"]
    past_due_periods: Literal["skipped", "charged"]
    success_url: Literal["optional", "required"]
    anonymous_customer: Literal["made", "none"]
    payment_received: Literal["intent", "transaction"]
    webhook_success: Literal["200", "2xx"]
    webhook_retry: Literal["faults", "all"]
    cors_without_domains: Literal["none", "any"]
    unknown_fields: Literal["reject", "ignore"]
    error_shape: Literal["documented", "flat", "nested"]
    refund_timing: Literal["documented", "instant"]

class CustomerCreate(TypedDict, total=False):
    email: str
    name: str
    phone: str | None
    metadata: dict[str, str | float | bool]

class SubscriptionPlanCreate(TypedDict, total=False):
    name: str
    amount: int
    currency: str
    interval: Interval
    interval_count: int
    trial_period_days: int
    description: str | None
    metadata: dict[str, str | float | bool]

class SubscriptionCreate(TypedDict, total=False):
    customer: Ref
    plan: Ref
    unit_amount: int
    currency: str
    interval: Interval
    interval_count: int
    product: Ref
    payment_method: Ref
    collection_method: CollectionMethod
    trial_period_days: int
    cancel_at_period_end: bool
    ends_at: str | None
    metadata: dict[str, str | float | bool]

class CheckoutSessionCreate(TypedDict, total=False):
    success_url: str | None
    cancel_url: str | None
    line_items: list[CheckoutLineInput]
    currency: str
    mode: CheckoutMode
    customer: Ref
    customer_email: str | None
    payment_method_types: list[PaymentMethodType]
    expires_in: int
    subscription_data: SubscriptionData
    metadata: dict[str, str | float | bool]

class CheckoutLineInput(TypedDict):
    product: NotRequired[str | None]
    plan: NotRequired[str]
    description: NotRequired[str]
    unit_amount: NotRequired[int]
    quantity: NotRequired[int]

class SubscriptionData(TypedDict):
    interval: Interval
    interval_count: NotRequired[int]
    trial_period_days: NotRequired[int]

class InvoiceCreate(TypedDict, total=False):
    customer: Ref
    line_items: list[InvoiceLineInput]
    currency: str
    due_date: str | None
    description: str | None
    footer: str | None
    metadata: dict[str, str | float | bool]

class InvoiceLineInput(TypedDict):
    product: NotRequired[str | None]
    description: NotRequired[str]
    unit_amount: NotRequired[int]
    quantity: NotRequired[int]

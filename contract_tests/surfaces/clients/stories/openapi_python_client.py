"""The story with the client that openapi-python-client makes: ``python FILE SERVER``."""

import sys

from payments_and_recurring_billing_api_client import AuthenticatedClient
from payments_and_recurring_billing_api_client.api.checkout_sessions import (
    create_checkout_session,
    get_checkout_session,
)
from payments_and_recurring_billing_api_client.api.customers import create_customer, get_customer
from payments_and_recurring_billing_api_client.api.invoices import list_invoices
from payments_and_recurring_billing_api_client.api.refunds import create_refund
from payments_and_recurring_billing_api_client.api.subscription_plans import create_subscription_plan
from payments_and_recurring_billing_api_client.api.transactions import list_transactions
from payments_and_recurring_billing_api_client.models import (
    ApiError,
    CheckoutLineInput,
    CheckoutMode,
    CheckoutSession,
    CheckoutSessionCreate,
    CheckoutSessionStatus,
    Currency,
    Customer,
    CustomerCreate,
    ErrorCode,
    Interval,
    InvoiceList,
    InvoiceStatus,
    Refund,
    RefundCreate,
    RefundStatus,
    SubscriptionPlan,
    SubscriptionPlanCreate,
    TransactionList,
)

KEY = "sk_test_openapi_python_client"
server = sys.argv[1]
client = AuthenticatedClient(base_url=f"{server}/v1", token=KEY)
emulator = AuthenticatedClient(base_url=f"{server}/_emulator", token=KEY)


def control(path: str, body: dict[str, str]) -> None:
    """Do what no client of the service can: pay as a buyer would, and move the clock."""
    emulator.get_httpx_client().post(path, json=body).raise_for_status()


customer = create_customer.sync(
    client=client, body=CustomerCreate(email="awa@example.com", name="Awa Diop", phone="+24177000000")
)
assert isinstance(customer, Customer), customer
plan = create_subscription_plan.sync(
    client=client,
    body=SubscriptionPlanCreate(name="Basic", amount=5000, currency=Currency.XAF, interval=Interval.MONTH),
)
assert isinstance(plan, SubscriptionPlan), plan

basket = CheckoutSessionCreate(
    mode=CheckoutMode.SUBSCRIPTION,
    currency=Currency.XAF,
    customer=customer.id,
    line_items=[CheckoutLineInput(plan=plan.id)],
)
session = create_checkout_session.sync(client=client, body=basket)
assert isinstance(session, CheckoutSession), session
control(f"/checkout-sessions/{session.id}/pay", {})
session = get_checkout_session.sync(session.id, client=client)
assert isinstance(session, CheckoutSession), session
assert session.status is CheckoutSessionStatus.COMPLETE, session

control("/clock/advance", {"by": "31d"})
invoices = list_invoices.sync(client=client, customer=customer.id, status=[InvoiceStatus.PAID])
assert isinstance(invoices, InvoiceList), invoices
assert len(invoices.data) == 2, invoices

transactions = list_transactions.sync(client=client, customer=customer.id)
assert isinstance(transactions, TransactionList), transactions
refund = create_refund.sync(client=client, body=RefundCreate(transaction=transactions.data[0].id, amount=2000))
assert isinstance(refund, Refund), refund
assert refund.status is RefundStatus.PROCESSING, refund

error = get_customer.sync("cust_000000000000000000000000", client=client)
assert isinstance(error, ApiError), error
assert error.code is ErrorCode.CUSTOMER_NOT_FOUND, error

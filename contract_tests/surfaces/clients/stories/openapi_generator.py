"""The story with the client that openapi-generator makes for Python: ``python FILE SERVER``."""

import sys
import urllib.request

import payments_client as payments
from payments_client.exceptions import NotFoundException

KEY = "sk_test_openapi_generator"
server = sys.argv[1]


def control(path: str, body: str) -> None:
    """Do what no client of the service can: pay as a buyer would, and move the clock."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(f"{server}/_emulator{path}", body.encode(), headers)) as answer:
        assert answer.status == 200, answer.status


with payments.ApiClient(payments.Configuration(host=f"{server}/v1", access_token=KEY)) as http:
    customers = payments.CustomersApi(http)
    customer = customers.create_customer(
        payments.CustomerCreate(email="awa@example.com", name="Awa Diop", phone="+24177000000")
    )
    plan = payments.SubscriptionPlansApi(http).create_subscription_plan(
        payments.SubscriptionPlanCreate(name="Basic", amount=5000, currency="XAF", interval=payments.Interval.MONTH)
    )

    sessions = payments.CheckoutSessionsApi(http)
    session = sessions.create_checkout_session(
        payments.CheckoutSessionCreate(
            mode=payments.CheckoutMode.SUBSCRIPTION,
            currency="XAF",
            customer=customer.id,
            line_items=[payments.CheckoutLineInput(plan=plan.id)],
        )
    )
    control(f"/checkout-sessions/{session.id}/pay", "{}")
    session = sessions.get_checkout_session(session.id)
    assert session.status is payments.CheckoutSessionStatus.COMPLETE, session

    control("/clock/advance", '{"by": "31d"}')
    invoices = payments.InvoicesApi(http).list_invoices(customer=customer.id, status=[payments.InvoiceStatus.PAID])
    assert len(invoices.data) == 2, invoices

    [transaction, _] = payments.TransactionsApi(http).list_transactions(customer=customer.id).data
    refund = payments.RefundsApi(http).create_refund(payments.RefundCreate(transaction=transaction.id, amount=2000))
    assert refund.status is payments.RefundStatus.PROCESSING, refund

    try:
        customers.get_customer("cust_000000000000000000000000")
        error = None
    except NotFoundException as problem:
        error = problem.data.actual_instance if problem.data else None
    assert isinstance(error, payments.ApiError), error
    assert error.code is payments.ErrorCode.CUSTOMER_NOT_FOUND, error

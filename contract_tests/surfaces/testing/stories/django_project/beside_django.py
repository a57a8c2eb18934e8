"""Django's test cases and the marker of pytest-django: a webhook sees what the test has written."""

import pytest
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.test import TestCase, TransactionTestCase
from orders.models import Order

from emulator.testing import AsyncEmulator, PaymentsMixin

WSGI, ASGI = get_wsgi_application(), get_asgi_application()


def story(payments, application, path="/hook"):
    """Pay an order that the test has written."""
    assert not Order.objects.exists()
    payments.webhooks.forward_to(application, path=path)
    session = payments.session()
    Order.objects.create(id=session["id"])
    payments.pay(session)
    assert [delivery.error for delivery in payments.webhooks.deliveries if delivery.error] == []
    assert Order.objects.get(id=session["id"]).paid


class Stories:
    """In both of Django's test cases."""

    def test_beside_django(self):
        story(self.payments, WSGI)

    def test_an_asgi_application(self):
        story(self.payments, ASGI)

    def test_an_asynchronous_view(self):
        story(self.payments, ASGI, "/awaited")

    def test_a_request_of_the_test_client(self):
        """Its view makes events while it writes to the database."""
        self.payments.webhooks.forward_to(WSGI, path="/hook")
        headers = {"url": self.payments.url, "key": self.payments.key}
        for number in range(5):
            Order.objects.all().delete()
            response = self.client.post("/welcome", headers={**headers, "number": str(number)})
            assert response.status_code == 200
        self.payments.settle()
        assert {delivery.status for delivery in self.payments.webhooks.deliveries} == {200}


class TransactionStories(Stories, PaymentsMixin, TransactionTestCase):
    def test_its_changes_are_committed(self):
        assert not connection.in_atomic_block


class CaseStories(Stories, PaymentsMixin, TestCase):
    def test_a_webhook_comes_while_the_test_waits_for_the_emulator(self):
        self.payments.webhooks.forward_to(WSGI, path="/hook")
        headers = {"url": self.payments.url, "key": self.payments.key, "number": "0"}
        self.client.post("/welcome", headers=headers)
        assert Order.objects.count() == 10
        self.payments.settle()
        assert Order.objects.count() == 20

    def test_its_connection_has_its_transaction_afterwards(self):
        story(self.payments, WSGI)
        self.payments.webhooks.stop_forwarding()
        assert connection.in_atomic_block
        assert not connection.allow_thread_sharing

    async def test_an_asynchronous_test(self):
        """The test's loop calls the application, whose view runs in the thread of the test."""
        payments = AsyncEmulator(self.payments)
        await payments.webhooks.forward_to(ASGI, path="/hook")
        session = await payments.session()
        await Order.objects.acreate(id=session["id"])
        await payments.pay(session)
        await payments.settle()
        assert (await Order.objects.aget(id=session["id"])).paid


@pytest.mark.django_db
@pytest.mark.parametrize("application", [WSGI, ASGI])
def test_beside_pytest_django(payments, application):
    story(payments, application)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("application", [WSGI, ASGI])
def test_changes_that_are_committed(payments, application):
    story(payments, application)


@pytest.fixture
def shop(payments):
    """Forward before the test has a database."""
    payments.webhooks.forward_to(WSGI, path="/hook")
    return payments


def test_a_fixture_that_forwards_before_there_is_a_database(shop, db):
    session = shop.session()
    Order.objects.create(id=session["id"])
    shop.pay(session)
    assert Order.objects.get(id=session["id"]).paid


def test_without_a_database(shop):
    shop.customer()
    shop.settle()
    assert [delivery.status for delivery in shop.webhooks.deliveries] == [500]

"""Sample invoices for other tools to check: ``python -m contract_tests.surfaces.rendering.samples FOLDER`` writes them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from emulator.presentation.pdf.invoice_pdf import render
from emulator.resources.billing.invoices import Invoice, line
from emulator.resources.customers.customer_records import Address, Customer
from emulator.resources.simulation.emails import InvoiceDocument

NOW = "2026-01-15T09:30:00.000Z"


def sample(*descriptions: str, name: str = "Jean-Claude Ondo", status: str = "open", language: str = "en") -> bytes:
    lines = tuple(line(product=None, description=text, quantity=1, unit_amount=1250) for text in descriptions)
    subtotal = sum(each.amount for each in lines)
    tax = subtotal // 5
    sums: dict[str, Any] = {"subtotal": subtotal, "tax_amount": tax, "total": subtotal + tax}
    invoice = Invoice(
        id="inv_3Hj6kL9pQ2rS5tU8vW1xY4zA",
        invoice_number="INV-2026-000042",
        status=status,
        customer="cust_8Kd2mQ5rT1vX7zB3nC6pF9sL",
        customer_email="jean-claude.ondo@example.com",
        currency="EUR",
        amount_remaining=subtotal + tax,
        due_date="2026-02-14",
        description="Café & thé, “janvier”",
        footer="Merci !",
        payment_url="http://127.0.0.1:4747/invoice/inv_3Hj6kL9pQ2rS5tU8vW1xY4zA",
        pdf_url="http://127.0.0.1:4747/v1/invoices/inv_3Hj6kL9pQ2rS5tU8vW1xY4zA/pdf/?token=token_x",
        line_items=lines,
        livemode=False,
        created_at=NOW,
        updated_at=NOW,
        **sums,
    )
    return render(InvoiceDocument(merchant="Okoume", language=language, invoice=invoice, customer=_customer(name)))


def _customer(name: str) -> Customer:
    first, _, last = name.partition(" ")
    return Customer(
        id="cust_8Kd2mQ5rT1vX7zB3nC6pF9sL",
        app="app_1aB2cD3eF4gH5iJ6kL7mN8oP",
        email="jean-claude.ondo@example.com",
        firstname=first,
        lastname=last,
        phone=None,
        address=Address(
            id="addr_2bC3dE4fG5hI6jK7lM8nO9pQ",
            customer="cust_8Kd2mQ5rT1vX7zB3nC6pF9sL",
            line1="12 rue de l'Église",
            line2=None,
            city="Libreville",
            state=None,
            postal_code="BP 2044",
            country="GA",
            is_default=True,
            created_at=NOW,
            updated_at=NOW,
        ),
        currency="EUR",
        metadata={},
        created_at=NOW,
        updated_at=NOW,
    )


SAMPLES = {
    "plain": lambda: sample("Premium plan", "Café moulu"),
    "void": lambda: sample("Premium plan", status="void"),
    "scripts": lambda: sample("اشتراك شهري (يناير) 2026", "订阅高级套餐", "한국어 구독", "מנוי חודשי", name="王 小明"),
    "hostile": lambda: sample("<script>alert('x')</script>", "🎉🏽‍👨‍👩‍👧 \u202eevil\u0000", "x" * 2000, "مرحبا " * 300),
    "long": lambda: sample(*(f"Basket {number}" for number in range(150)), language="fr"),
}


def main(folder: Path) -> None:
    """Write every sample into the folder."""
    for name, make in SAMPLES.items():
        (folder / f"{name}.pdf").write_bytes(make())


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Invoices for other tools: ``python -m contract_tests.surfaces.rendering.samples FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

from contract_tests.support.sandbox import RunningServer, Sandbox

ADDRESS = {
    "line1": "12 rue de l'Église",
    "city": "Libreville",
    "postal_code": "BP 2044",
    "country": "GA",
}

SAMPLES: dict[str, tuple[str, ...]] = {
    "plain": ("Premium plan", "Café moulu"),
    "void": ("Premium plan",),
    "scripts": ("اشتراك شهري (يناير) 2026", "订阅高级套餐", "한국어 구독", "מנוי חודשי"),
    "hostile": ("<script>alert('x')</script>", "🎉🏽‍👨‍👩‍👧 \u202eevil", "x" * 2000, "مرحبا " * 300),
    "long": tuple(f"Basket {number}" for number in range(100)),
}
"""By its name what stands on each."""


def sample(sandbox: Sandbox, name: str) -> bytes:
    who = "王 小明" if name == "scripts" else "Jean-Claude Ondo"
    customer = sandbox.customer(name=who, metadata={"language": "fr" if name == "long" else "en"})
    sandbox.api.post(f"/customers/{customer['id']}/addresses/", {**ADDRESS, "is_default": True})
    lines = [{"description": text, "unit_amount": 1250} for text in SAMPLES[name]]
    words = {"description": "Café & thé, “janvier”", "footer": "Merci !", "due_date": "2026-02-14"}
    invoice = sandbox.invoice(customer, line_items=lines, currency="EUR", **words)
    if name == "void":
        sandbox.api.post(f"/invoices/{invoice['id']}/void/")
    return sandbox.api.request("GET", f"/invoices/{invoice['id']}/pdf/").content


def main(folder: Path) -> None:
    with RunningServer() as server, server.world("samples") as sandbox:
        sandbox.settings(tax_rate=20)
        for name in SAMPLES:
            (folder / f"{name}.pdf").write_bytes(sample(sandbox, name))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

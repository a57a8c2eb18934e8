"""The PDF of an invoice: one page of A4 where it fits, more where it does not, in the customer's language."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from emulator.rendering import wording
from emulator.rendering.canvas import HEIGHT, WIDTH, Box, Page
from emulator.rendering.page_flow import BOTTOM, LEFT, RIGHT, PageFlow
from emulator.rendering.styles import (
    ACCENT,
    BODY,
    BUTTON,
    HAIR,
    HEADLINE,
    INK,
    LABEL,
    LINK,
    MARK,
    NAME,
    QUIET,
    SMALL,
    STAMPS,
    STRONG,
    TITLE,
)
from emulator.rendering.text import Style, wrap
from emulator.resources.billing.invoices import Invoice
from emulator.resources.sandbox.invoice_documents import InvoiceDocument

GUTTER = 18.0
NUMBERS = 118.0
"""The widest a column of numbers may be; what is longer is broken."""


class Column(NamedTuple):
    """A column of the table: its heading, where it stands, and whether its text ends at its right edge."""

    heading: str
    left: float
    width: float
    to_right: bool


def render(paper: InvoiceDocument) -> bytes:
    """The PDF. Its date is that of the invoice's last change, so the same invoice always gives the same bytes."""
    return _Setter(paper).set()


class _Setter:
    """An invoice being set, from top to bottom."""

    def __init__(self, paper: InvoiceDocument) -> None:
        self.paper = paper
        self.invoice: Invoice = paper.invoice
        self.say = wording.phrases(paper.language)
        self.sheet = PageFlow(self._begin_page)
        self.columns = self._columns()

    def set(self) -> bytes:
        self._head()
        self._parties()
        self._headline()
        self._lines()
        self._totals()
        self._closing()
        for number, page in enumerate(self.sheet.canvas.pages, 1):
            self._foot(page, number)
        return self.sheet.canvas.pdf(
            title=f"{self.say('invoice')} {self.invoice.invoice_number}",
            author=self.paper.merchant,
            language=self.paper.language,
            created=self.invoice.updated_at,
        )

    def _begin_page(self, page: Page) -> None:
        page.fill(Box(0, 0, WIDTH, 6), ACCENT)
        if self.invoice.status == "void":
            page.turned(wrap(self.say("void").upper(), MARK, 900)[0], WIDTH / 2, HEIGHT / 2 + 20, 38)

    def _head(self) -> None:
        """Merchant at the left, the word invoice and its stamp at the right."""
        sheet = self.sheet

        def title() -> None:
            sheet.put(self.say("invoice"), TITLE, RIGHT - 200, 200, to_right=True)
            sheet.y += 5
            self._stamp()

        sheet.beside(partial(sheet.put, self.paper.merchant, NAME, LEFT, 270), title)
        sheet.y += 26

    def _stamp(self) -> None:
        colour = STAMPS[self.invoice.status]
        line = wrap(self.say(self.invoice.status).upper(), Style(9.0, bold=True, colour=colour), 190)[0]
        box = Box(RIGHT - line.width - 20, self.sheet.y, line.width + 20, 19)
        self.sheet.page.frame(box, colour, radius=9.5)
        self.sheet.page.text(line, box.left + 10, box.top + 12.7)
        self.sheet.y += box.height

    def _parties(self) -> None:
        """Whom it is for, beside its number and days."""
        self.sheet.beside(self._billed_to, self._facts)
        self.sheet.y += 20

    def _billed_to(self) -> None:
        self.sheet.put(self.say("billed to"), LABEL, LEFT, 250)
        self.sheet.y += 3
        for text, style in self._recipient():
            self.sheet.put(text, style, LEFT, 250, to_left=True)

    def _recipient(self) -> list[tuple[str, Style]]:
        customer = self.paper.customer
        email = (self.invoice.customer_email or "", BODY)
        if customer is None:
            return [email]
        lines: list[tuple[str, Style]] = [(f"{customer.firstname} {customer.lastname}".strip(), STRONG)]
        if (address := customer.address) is not None:
            town = " ".join(part for part in (address.postal_code, address.city) if part)
            country = wording.country(address.country, self.paper.language)
            parts = (address.line1, address.line2, town, address.state, country)
            lines += [(part, BODY) for part in parts if part]
        return [*lines, email]

    def _facts(self) -> None:
        invoice, sheet = self.invoice, self.sheet
        days = {"issued": self._day(invoice.created_at), "due": self._day(invoice.due_date)}
        for name, value in {"number": invoice.invoice_number, **days}.items():
            sheet.beside(
                partial(sheet.put, self.say(name), QUIET, 330, 90),
                partial(sheet.put, value, BODY, 424, RIGHT - 424, to_right=True),
            )
            sheet.y += 2

    def _headline(self) -> None:
        """What is to be done, and the button that does it; then what the merchant has to say."""
        sheet, invoice = self.sheet, self.invoice
        amount = self._money(invoice.total if invoice.status == "paid" else invoice.amount_remaining)
        text = self.say(f"{invoice.status} headline").format(amount=amount, day=self._day(invoice.due_date))
        sheet.put(text, HEADLINE, LEFT, RIGHT - LEFT)
        if payable(invoice):
            sheet.y += 6
            self._button()
        if invoice.description:
            sheet.y += 8
            sheet.put(invoice.description, BODY, LEFT, RIGHT - LEFT)
        sheet.y += 22

    def _button(self) -> None:
        line = wrap(self.say("pay online"), BUTTON, 200)[0]
        box = Box(LEFT, self.sheet.y, line.width + 30, 25)
        self.sheet.page.fill(box, ACCENT, radius=5)
        self.sheet.page.text(line, box.left + 15, box.top + 16.2)
        self.sheet.page.link(box, self.invoice.payment_url or "")
        self.sheet.y += box.height

    def _lines(self) -> None:
        self._table_head()
        for line in self.invoice.line_items:
            self._row((line.description, *self._numbers(line)))

    def _table_head(self) -> None:
        for column in self.columns:
            heading = wrap(column.heading, LABEL, column.width)[0]
            self.sheet.line(heading, column.left, column.width, column.to_right)
        self.sheet.y += LABEL.height + 4
        self.sheet.rule(INK, 0.9)

    def _row(self, cells: Sequence[str]) -> None:
        """A row; a description that does not fit goes on, under a heading of its own, on the next page."""
        sheet = self.sheet
        wrapped = [wrap(cell, BODY, column.width) for cell, column in zip(cells, self.columns, strict=True)]
        self._table_room(min(len(wrapped[0]), 3) * BODY.height + 16)
        sheet.y += 7
        for number in range(max(map(len, wrapped))):
            self._table_room(BODY.height)
            for lines, column in zip(wrapped, self.columns, strict=True):
                if number < len(lines):
                    line = lines[number]
                    sheet.line(line, column.left, column.width, column.to_right or line.rtl)
            sheet.y += BODY.height
        sheet.y += 6
        sheet.rule(HAIR, 0.6)

    def _table_room(self, height: float) -> None:
        """Room for a part of the table; where it goes on on a new page, its heading comes first."""
        if self.sheet.room(height):
            self._table_head()
            self.sheet.y += 7

    def _totals(self) -> None:
        """From the subtotal to what is left to pay."""
        sheet, left = self.sheet, RIGHT - 230
        sums = self._sums()
        sheet.room(len(sums) * 20 + 20)
        sheet.y += 10
        for number, (name, amount, style) in enumerate(sums):
            if number:
                sheet.rule(HAIR, 0.6, left)
                sheet.y += 4
            sheet.beside(
                partial(sheet.put, self.say(name), style, left, 100),
                partial(sheet.put, amount, style, left + 100, 130, to_right=True),
            )
            sheet.y += 4
        sheet.y += 14

    def _sums(self) -> list[tuple[str, str, Style]]:
        """The rows of the totals; what is nothing, and what a void invoice is not owed, is left out."""
        invoice = self.invoice
        rows = [
            ("subtotal", invoice.subtotal, BODY, True),
            ("discount", -invoice.discount_amount, BODY, invoice.discount_amount > 0),
            ("tax", invoice.tax_amount, BODY, invoice.tax_amount > 0),
            ("total", invoice.total, STRONG, True),
            ("paid so far", -invoice.amount_paid, BODY, invoice.amount_paid > 0),
            ("left to pay", invoice.amount_remaining, STRONG, invoice.status != "void"),
        ]
        return [(name, self._money(amount), style) for name, amount, style, shown in rows if shown]

    def _closing(self) -> None:
        """The link written out, for paper has no buttons; and the merchant's last words."""
        sheet, invoice = self.sheet, self.invoice
        if payable(invoice):
            sheet.room(40)
            sheet.put(self.say("pay online"), LABEL, LEFT, RIGHT - LEFT)
            start = sheet.y
            sheet.put(invoice.payment_url or "", LINK, LEFT, RIGHT - LEFT)
            sheet.page.link(Box(LEFT, start, RIGHT - LEFT, sheet.y - start), invoice.payment_url or "")
            sheet.y += 12
        if invoice.footer:
            sheet.put(invoice.footer, QUIET, LEFT, RIGHT - LEFT)

    def _foot(self, page: Page, number: int) -> None:
        """Which paper this is, on every page, and which page where there are several."""
        sheet, pages = self.sheet, len(self.sheet.canvas.pages)
        sheet.page, sheet.y = page, BOTTOM + 22
        sheet.rule(HAIR, 0.6)
        sheet.y += 6
        sheet.line(wrap(f"{self.paper.merchant} · {self.invoice.invoice_number}", SMALL, 400)[0], LEFT, 400)
        if pages > 1:
            text = self.say("page").format(page=number, pages=pages)
            sheet.line(wrap(text, SMALL, 100)[0], RIGHT - 100, 100, to_right=True)

    # -- columns and words

    def _columns(self) -> list[Column]:
        """Columns of numbers take what their widest number does, the description takes the rest."""
        names = ("quantity", "unit price", "amount")
        rows = [self._numbers(line) for line in self.invoice.line_items]
        right, columns = RIGHT, list[Column]()
        for place, name in reversed(list(enumerate(names))):
            cells = [self.say(name), *(row[place] for row in rows)]
            width = min(max(wrap(cell, STRONG, 1000)[0].width for cell in cells), NUMBERS)
            columns.insert(0, Column(self.say(name), right - width, width, to_right=True))
            right -= width + GUTTER
        return [Column(self.say("item"), LEFT, right - LEFT, to_right=False), *columns]

    def _numbers(self, line: Any) -> tuple[str, str, str]:
        quantity = wording.number(line.quantity, self.paper.language)
        return quantity, self._money(line.unit_amount), self._money(line.amount)

    def _money(self, amount: int) -> str:
        return wording.money(amount, self.invoice.currency, self.paper.language)

    def _day(self, instant: str | None) -> str:
        return wording.day(instant, self.paper.language) if instant else "–"


def payable(invoice: Invoice) -> bool:
    """Whether its page still takes a payment (B-45)."""
    return invoice.status in ("open", "uncollectible") and invoice.payment_url is not None

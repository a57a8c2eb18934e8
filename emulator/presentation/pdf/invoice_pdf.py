"""The PDF of an invoice, in the customer's language, on as many A4 pages as it needs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from emulator.presentation.languages.language import language_of
from emulator.presentation.languages.wording import (
    BEING_PROCESSED,
    HEADLINES,
    INVOICE_STATUSES,
    buyers_step,
    line_name,
    recipient,
    sums,
)
from emulator.presentation.pdf.canvas import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    WIDTH,
    Box,
    PageFlow,
    PdfPage,
)
from emulator.presentation.pdf.embedded import pdf_image
from emulator.presentation.pdf.typesetting import Style, is_legible, wrap
from emulator.presentation.pictures import Logo, read_logo
from emulator.resources.billing.invoices import Invoice
from emulator.resources.simulation.emails import InvoiceDocument

# -- colours and text styles


INK = (0.09, 0.13, 0.20)
SOFT = (0.38, 0.43, 0.52)
HAIR = (0.86, 0.88, 0.92)
ACCENT = (0.04, 0.33, 0.68)
WHITE = (1.0, 1.0, 1.0)
STAMPS = {
    "open": (0.04, 0.33, 0.68),
    "paid": (0.05, 0.48, 0.30),
    "void": (0.76, 0.13, 0.16),
    "uncollectible": (0.66, 0.36, 0.02),
}

BODY = Style(9.5, colour=INK)
STRONG = Style(9.5, bold=True, colour=INK)
QUIET = Style(9.0, colour=SOFT)
LABEL = Style(8.0, bold=True, colour=SOFT)
NAME = Style(17.0, bold=True, colour=INK, leading=1.25)
TITLE = Style(22.0, bold=True, colour=INK, leading=1.2)
HEADLINE = Style(15.0, bold=True, colour=INK, leading=1.3)
LINK = Style(9.0, colour=ACCENT)
BUTTON = Style(10.0, bold=True, colour=WHITE)
SMALL = Style(8.0, colour=SOFT)
MARK = Style(118.0, bold=True, colour=(0.98, 0.89, 0.89))
"""The word across every page of a void invoice, drawn below the text."""


# -- the invoice


GUTTER = 18.0
LOGO_WIDTH, LOGO_HEIGHT = 170.0, 52.0
"""The greatest size of a logo."""
NUMBERS = 118.0
"""The greatest width of a column of numbers; longer numbers are broken into lines."""


class Column(NamedTuple):
    """A column of the table: its heading, its position, and whether its text is aligned right."""

    heading: str
    left: float
    width: float
    to_right: bool


Cell = tuple[str, Style, float, float]
"""A text, its style, its position and its width."""


def render(document: InvoiceDocument) -> bytes:
    """Return the PDF. Its date is the invoice's last change: same invoice, same bytes."""
    return _InvoiceLayout(document).render()


class _InvoiceLayout:
    def __init__(self, document: InvoiceDocument) -> None:
        self.document = document
        self.invoice: Invoice = document.invoice
        self.language = language_of(document.language)
        self.gettext = self.language.gettext
        self.sheet = PageFlow(self._begin_page)
        self.columns = self._columns()

    def render(self) -> bytes:
        self._head()
        self._parties()
        self._headline()
        self._lines()
        self._totals()
        self._closing()
        for number, page in enumerate(self.sheet.canvas.pages, 1):
            self._foot(page, number)
        return self.sheet.canvas.pdf(
            title=" ".join((self.gettext("Invoice"), self.invoice.invoice_number)),
            author=self.document.merchant,
            language=self.document.language,
            created=self.invoice.updated_at,
        )

    def _begin_page(self, page: PdfPage) -> None:
        page.fill(Box(0, 0, WIDTH, 6), ACCENT)
        if self.invoice.status == "void":
            page.stamp(
                wrap(self.gettext("Void").upper(), MARK, 900)[0], WIDTH / 2, HEIGHT / 2 + 20, 38
            )

    def _head(self) -> None:
        self.sheet.beside(self._seller, self._title)
        self.sheet.y += 26

    def _seller(self) -> None:
        """Draw the merchant's logo, name, address, contact and tax number, where known."""
        sheet, seller = self.sheet, self.document.seller
        if seller is not None and seller.logo is not None:
            self._logo(read_logo(seller.logo))
        sheet.put(self.document.merchant, NAME, LEFT, 270)
        if seller is not None:
            sheet.y += 3
            tax = (
                [" ".join((self.gettext("Tax number"), seller.tax_number))]
                if seller.tax_number
                else []
            )
            for text in (*seller.address, *seller.contact, *tax):
                sheet.put(text, QUIET, LEFT, 250, to_left=True)

    def _logo(self, logo: Logo) -> None:
        scale = min(LOGO_WIDTH / logo.width, LOGO_HEIGHT / logo.height)
        box = Box(LEFT, self.sheet.y, logo.width * scale, logo.height * scale)
        # The name of the merchant stands beside it.
        self.sheet.page.decoration(pdf_image(logo), box)
        self.sheet.y += box.height + 8

    def _title(self) -> None:
        self.sheet.put(self.gettext("Invoice"), TITLE, RIGHT - 200, 200, to_right=True, role="H1")
        self.sheet.y += 5
        colour = STAMPS[self.invoice.status]
        status = self.gettext(INVOICE_STATUSES[self.invoice.status]).upper()
        line = wrap(status, Style(9.0, bold=True, colour=colour), 190)[0]
        box = Box(RIGHT - line.width - 20, self.sheet.y, line.width + 20, 19)
        self.sheet.page.frame(box, colour, radius=9.5)
        with self.sheet.structure.element("P"):
            self.sheet.page.text(line, box.left + 10, box.top + 12.7)
        self.sheet.y += box.height

    def _parties(self) -> None:
        self.sheet.beside(self._billed_to, self._facts)
        self.sheet.y += 20

    def _billed_to(self) -> None:
        self.sheet.put(self.gettext("Billed to"), LABEL, LEFT, 250)
        self.sheet.y += 3
        name, *lines = recipient(self.document, self.language)
        for text, style in ((name, STRONG if lines else BODY), *((line, BODY) for line in lines)):
            self.sheet.put(text, style, LEFT, 250, to_left=True)

    def _facts(self) -> None:
        invoice = self.invoice
        rows = (
            (self.gettext("Invoice number"), invoice.invoice_number),
            (self.gettext("Issued"), self._day(invoice.created_at)),
            (self.gettext("Due"), self._day(invoice.due_date)),
        )
        with self.sheet.structure.element("Table"):
            for name, value in rows:
                self._pair((name, QUIET, 330, 90), (value, BODY, 424, RIGHT - 424))
                self.sheet.y += 2

    def _pair(self, name: Cell, value: Cell) -> None:
        """Draw a row of two cells, the second one aligned right."""
        sheet, structure = self.sheet, self.sheet.structure
        with structure.element("TR"):
            heading = partial(sheet.put, *name, role="TH", scope="Row")
            sheet.beside(heading, partial(sheet.put, *value, to_right=True, role="TD"))

    def _headline(self) -> None:
        """Draw the amount and its due date, the payment button, and the merchant's description."""
        sheet, invoice = self.sheet, self.invoice
        amount = self._money(
            invoice.total if invoice.status == "paid" else invoice.amount_remaining
        )
        text = self.gettext(
            HEADLINES[invoice.status], amount=amount, day=self._day(invoice.due_date)
        )
        sheet.put(text, HEADLINE, LEFT, RIGHT - LEFT, role="H2")
        if under_way := self.document.under_way:
            sheet.y += 4
            paid = self.gettext(BEING_PROCESSED, amount=self._money(under_way))
            sheet.put(paid, BODY, LEFT, RIGHT - LEFT)
        if buyers_step(invoice):
            sheet.y += 6
            self._button()
        if invoice.description:
            sheet.y += 8
            sheet.put(invoice.description, BODY, LEFT, RIGHT - LEFT)
        sheet.y += 22

    def _button(self) -> None:
        line = wrap(self.gettext("Pay online"), BUTTON, 200)[0]
        box = Box(LEFT, self.sheet.y, line.width + 30, 25)
        self.sheet.page.fill(box, ACCENT, radius=5)
        with self.sheet.structure.element("P"), self.sheet.structure.element("Link"):
            self.sheet.page.text(line, box.left + 15, box.top + 16.2)
            self.sheet.page.link(box, self.invoice.payment_url or "")
        self.sheet.y += box.height

    def _lines(self) -> None:
        with self.sheet.structure.element("Table"):
            self._table_head()
            for line in self.invoice.line_items:
                # An id can be read where the letters of a name cannot be written.
                known = line.product if line.product and not is_legible(line.description) else ""
                name = line_name(self.language, self.invoice, line)
                with self.sheet.structure.element("TR"):
                    self._row((f"{name} {known}".rstrip(), *self._numbers(line)))

    def _table_head(self) -> None:
        structure = self.sheet.structure
        with structure.element("TR"):
            for column in self.columns:
                heading = wrap(column.heading, LABEL, column.width)[0]
                with structure.element("TH", scope="Column"):
                    self.sheet.line(heading, column.left, column.width, column.to_right)
        self.sheet.y += LABEL.height + 4
        self.sheet.rule(INK, 0.9)

    def _row(self, cells: Sequence[str]) -> None:
        """Draw a row. A long description goes on to the next page, below a repeated heading."""
        sheet, structure = self.sheet, self.sheet.structure
        wrapped = [
            wrap(cell, BODY, column.width) for cell, column in zip(cells, self.columns, strict=True)
        ]
        self._table_room(min(len(wrapped[0]), 3) * BODY.height + 16)
        sheet.y += 7
        # The cells are drawn side by side, line by line, and read one after the other.
        elements = [structure.child("TD") for _ in cells]
        for number in range(max(map(len, wrapped))):
            self._table_room(BODY.height)
            for lines, column, element in zip(wrapped, self.columns, elements, strict=True):
                if number < len(lines):
                    with structure.inside(element):
                        line = lines[number]
                        sheet.line(line, column.left, column.width, column.to_right or line.rtl)
            sheet.y += BODY.height
        sheet.y += 6
        sheet.rule(HAIR, 0.6)

    def _table_room(self, height: float) -> None:
        """Make room for a part of the table; a new page starts with the table heading."""
        if self.sheet.room(height):
            # It was read at the beginning of the table.
            with self.sheet.structure.inside(None):
                self._table_head()
            self.sheet.y += 7

    def _totals(self) -> None:
        sheet, left = self.sheet, RIGHT - 230
        rows = sums(self.invoice, self.language)
        sheet.room(len(rows) * 20 + 20)
        sheet.y += 10
        with sheet.structure.element("Table"):
            for number, (name, amount, strong) in enumerate(rows):
                if number:
                    sheet.rule(HAIR, 0.6, left)
                    sheet.y += 4
                style = STRONG if strong else BODY
                self._pair((name, style, left, 100), (self._money(amount), style, left + 100, 130))
                sheet.y += 4
        sheet.y += 14

    def _closing(self) -> None:
        """Draw the payment URL in full, for printed copies, and the merchant's footer."""
        sheet, invoice = self.sheet, self.invoice
        if buyers_step(invoice):
            sheet.room(40)
            sheet.put(self.gettext("Pay online"), LABEL, LEFT, RIGHT - LEFT)
            start = sheet.y
            with sheet.structure.element("P"), sheet.structure.element("Link"):
                sheet.put(invoice.payment_url or "", LINK, LEFT, RIGHT - LEFT, role=None)
                sheet.page.link(
                    Box(LEFT, start, RIGHT - LEFT, sheet.y - start), invoice.payment_url or ""
                )
            sheet.y += 12
        if invoice.footer:
            sheet.put(invoice.footer, QUIET, LEFT, RIGHT - LEFT)

    def _foot(self, page: PdfPage, number: int) -> None:
        """Draw the footer: merchant and number; on several pages also the page number."""
        sheet, pages = self.sheet, len(self.sheet.canvas.pages)
        sheet.page, sheet.y = page, BOTTOM + 22
        sheet.rule(HAIR, 0.6)
        sheet.y += 6
        with sheet.structure.inside(None):
            sheet.line(
                wrap(f"{self.document.merchant} · {self.invoice.invoice_number}", SMALL, 400)[0],
                LEFT,
                400,
            )
            if pages > 1:
                text = self.gettext("Page {page} of {pages}", page=number, pages=pages)
                sheet.line(wrap(text, SMALL, 100)[0], RIGHT - 100, 100, to_right=True)

    # Columns and texts

    def _columns(self) -> list[Column]:
        names = (self.gettext("Qty"), self.gettext("Unit price"), self.gettext("Amount"))
        rows = [self._numbers(line) for line in self.invoice.line_items]
        right, columns = RIGHT, list[Column]()
        for place, name in reversed(list(enumerate(names))):
            cells = [name, *(row[place] for row in rows)]
            width = min(max(wrap(cell, STRONG, 1000)[0].width for cell in cells), NUMBERS)
            columns.insert(0, Column(name, right - width, width, to_right=True))
            right -= width + GUTTER
        return [Column(self.gettext("Description"), LEFT, right - LEFT, to_right=False), *columns]

    def _numbers(self, line: Any) -> tuple[str, str, str]:
        quantity = self.language.number(line.quantity)
        return quantity, self._money(line.unit_amount), self._money(line.amount)

    def _money(self, amount: int) -> str:
        return self.language.money_with_symbol(amount, self.invoice.currency)

    def _day(self, instant: str | None) -> str:
        return self.language.day(instant) if instant else "–"

"""Wording: what documents and emails say in each language, and how they write amounts, days and countries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal, localcontext

from emulator.core.calendar import Timestamp

# Babel is loaded on first use in each of these: locale data takes longer to load than most servers live.


def money(amount: int, currency: str, language: str) -> str:
    """Minor units as people write them: 5000 XAF is ``5 000 FCFA`` in French, 1999 EUR is ``€19.99`` in English."""
    from babel.numbers import format_currency, get_currency_precision

    with _precise(amount):
        exact = Decimal(amount).scaleb(-get_currency_precision(currency))
        written = str(format_currency(exact, currency, locale=language))
    # A currency sign of letters stands apart from its number (CLDR's currency spacing, which Babel leaves out).
    return re.sub(r"(?<=[^\W\d])(?=\d)", "\u00a0", written)


def number(value: int, language: str) -> str:
    """A whole number with its thousands apart."""
    from babel.numbers import format_decimal

    with _precise(value):
        return str(format_decimal(value, locale=language))


@contextmanager
def _precise(value: int) -> Iterator[None]:
    """Decimals with digits enough for any number a client has thought of; otherwise long ones raise an error."""
    with localcontext() as context:
        context.prec = 28 + value.bit_length()
        yield


def day(instant: Timestamp, language: str) -> str:
    """The day of an instant, or a day, in full: ``1 février 2026``."""
    from babel.dates import format_date

    return str(format_date(date.fromisoformat(instant[:10]), "long", locale=language))


def period(interval: str, count: int, language: str) -> str:
    """How long a period is: ``month``, ``3 mois``."""
    from babel.units import format_unit

    written = str(format_unit(count, f"duration-{interval}", locale=language))
    return re.sub(r"^1\s", "", written)


def country(code: str, language: str) -> str:
    """The name of a country."""
    from babel import Locale

    return str(Locale(language).territories.get(code, code))


def phrases(language: str) -> Callable[[str], str]:
    """The phrase of a name in a language."""
    column = ("en", "fr").index(language)
    return lambda name: PHRASES[name][column]


PHRASES: dict[str, tuple[str, str]] = {
    "invoice": ("Invoice", "Facture"),
    "billed to": ("Billed to", "Facturé à"),
    "number": ("Invoice number", "Numéro"),
    "issued": ("Issued", "Date d’émission"),
    "due": ("Due", "Échéance"),
    "item": ("Description", "Désignation"),
    "quantity": ("Qty", "Qté"),
    "unit price": ("Unit price", "Prix unitaire"),
    "amount": ("Amount", "Montant"),
    "subtotal": ("Subtotal", "Sous-total"),
    "discount": ("Discount", "Remise"),
    "tax": ("Tax", "Taxes"),
    "total": ("Total", "Total"),
    "paid so far": ("Amount paid", "Déjà réglé"),
    "left to pay": ("Amount due", "Reste à payer"),
    "pay online": ("Pay online", "Payer en ligne"),
    "page": ("Page {page} of {pages}", "Page {page} sur {pages}"),
    "open": ("Open", "À payer"),
    "paid": ("Paid", "Payée"),
    "void": ("Void", "Annulée"),
    "uncollectible": ("Uncollectible", "Irrécouvrable"),
    "open headline": ("{amount} due {day}", "{amount} à payer d’ici le {day}"),
    "paid headline": ("{amount} paid", "{amount} réglés"),
    "void headline": ("Void: nothing to pay", "Annulée : rien à payer"),
    "uncollectible headline": ("{amount} was due {day}", "{amount} étaient dus le {day}"),
    # Emails.
    "hello": ("Hello {name},", "Bonjour {name},"),
    "hello nobody": ("Hello,", "Bonjour,"),
    "subscription": ("Subscription", "Abonnement"),
    "price": ("Price", "Prix"),
    "day": ("Date", "Date"),
    "paid by": ("Paid by", "Moyen de paiement"),
    "receipt number": ("Receipt number", "Numéro de reçu"),
    "mobile_money": ("Mobile money", "Mobile money"),
    "bank_card": ("Card", "Carte bancaire"),
    "bank_transfer": ("Bank transfer", "Virement"),
    "paypal": ("PayPal", "PayPal"),
    "colon": (": ", "\u00a0: "),
    "sent by": ("This email was sent by {merchant}.", "Ce courriel vous est envoyé par {merchant}."),
    "invoice subject": ("Invoice {number} from {merchant}", "Facture {number} de {merchant}"),
    "invoice text": (
        "Here is your invoice {number}. It is attached as a PDF.",
        "Voici votre facture {number}. Vous la trouverez en pièce jointe, au format PDF.",
    ),
    "invoice button": ("Pay this invoice", "Régler cette facture"),
    "receipt subject": ("Receipt {number} from {merchant}", "Reçu {number} de {merchant}"),
    "receipt title": ("We received your payment of {amount}", "Nous avons reçu votre paiement de {amount}"),
    "receipt text": ("Thank you. This is your receipt.", "Merci. Voici votre reçu."),
    "receipt button": ("See the receipt", "Voir le reçu"),
    "failed subject": ("Your payment to {merchant} failed", "Votre paiement à {merchant} a échoué"),
    "failed title": ("We could not collect {amount}", "Nous n’avons pas pu prélever {amount}"),
    "failed text": (
        "The payment for your subscription did not go through.",
        "Le paiement de votre abonnement n’a pas abouti.",
    ),
    "failed again": (
        "We will try again on {day}. Please see to it that the account holds enough by then.",
        "Nous réessaierons le {day}. Veillez à ce que le compte soit approvisionné d’ici là.",
    ),
    "failed last": (
        "This was the last attempt. To keep your subscription, pay the open invoice.",
        "C’était la dernière tentative. Pour conserver votre abonnement, réglez la facture en attente.",
    ),
    "failed button": ("Pay now", "Payer maintenant"),
    "trial subject": ("Your trial at {merchant} ends on {day}", "Votre essai chez {merchant} se termine le {day}"),
    "trial title": ("Your trial ends on {day}", "Votre essai se termine le {day}"),
    "trial text": (
        "Your first payment of {amount} is due on that day.",
        "Votre premier paiement de {amount} aura lieu ce jour-là.",
    ),
    "trial only": (
        "Your subscription ends with it. Nothing will be charged.",
        "Votre abonnement prend fin en même temps. Rien ne vous sera prélevé.",
    ),
    "canceled subject": ("Your subscription at {merchant} is canceled", "Votre abonnement chez {merchant} est annulé"),
    "canceled title": ("Your subscription is canceled", "Votre abonnement est annulé"),
    "canceled text": (
        "It ended on {day}. You will not be charged any more.",
        "Il a pris fin le {day}. Plus rien ne vous sera prélevé.",
    ),
    "refund subject": ("Refund of {amount} from {merchant}", "Remboursement de {amount} par {merchant}"),
    "refund title": ("{amount} refunded", "Remboursement de {amount}"),
    "refund text": (
        "We sent the money back by the way you paid.",
        "Nous vous avons rendu l’argent par le moyen de paiement d’origine.",
    ),
    "refund of": ("Payment of", "Paiement du"),
    "refund receipt": ("Receipt", "Reçu"),
}
"""Each phrase in English and in French."""

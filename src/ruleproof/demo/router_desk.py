"""The support desk of the demo: forty messages of our own writing, and the queue that each belongs to.

Two conventions of the house decide where common sense would not: whatever mentions a gift card goes to billing, and
what arrived damaged goes to shipping, since the carrier's insurance pays. No prompt says so; a rule may.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Queue = Literal["billing", "shipping", "returns", "account", "technical"]
QUEUES: tuple[Queue, ...] = get_args(Queue)
Kind = Literal["plain", "gift card", "damaged"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a customer. `kind`: which convention decides its queue, or `plain`: none."""

    id: str
    queue: Queue
    kind: Kind
    text: str


_PLAIN, _GIFT, _DAMAGED = get_args(Kind)
_WRITTEN: tuple[tuple[Queue, Kind, str], ...] = (
    ("billing", _GIFT, "The gift card I was sent says its code is invalid when I type it in."),
    ("shipping", _PLAIN, "The tracking page has not moved since Monday. Where is my parcel?"),
    ("returns", _PLAIN, "The shoes do not fit. How can I send them back?"),
    ("account", _PLAIN, "I forgot my password and cannot log in."),
    ("technical", _PLAIN, "The app crashes as soon as I open the search page."),
    ("billing", _PLAIN, "My card was charged twice for the same order."),
    ("shipping", _DAMAGED, "My lamp arrived with a broken shade."),
    ("returns", _PLAIN, "I changed my mind about the jacket and want my money back once you have it again."),
    ("account", _PLAIN, "Please change the email address of my profile."),
    ("technical", _PLAIN, "The website shows a blank page in my browser."),
    ("billing", _GIFT, "I lost the email with my gift card. Can you send it to me again?"),
    ("shipping", _PLAIN, "Can you deliver my order on Saturday instead of Friday?"),
    ("returns", _PLAIN, "You sent me a blue mug, but I ordered a red one. I want to return it."),
    ("account", _PLAIN, "I want to delete my user account and all my data."),
    ("technical", _PLAIN, "The filter button on the product page does nothing when I press it."),
    ("billing", _GIFT, "Can I return a sweater that I paid for with a gift card?"),
    ("shipping", _DAMAGED, "The mirror was cracked when I opened the box."),
    ("returns", _PLAIN, "Where do I print the label to send the trousers back?"),
    ("account", _PLAIN, "How do I switch on two-step login?"),
    ("technical", _PLAIN, "Your app will not install on my phone: it stops with error 12."),
    ("billing", _PLAIN, "I need an invoice with the tax number of my company."),
    ("shipping", _PLAIN, "The courier says it was delivered, but nothing came."),
    ("returns", _PLAIN, "How many days do I have to return a book that I do not like?"),
    ("account", _PLAIN, "Someone else has logged in to my account. Please lock it."),
    ("technical", _PLAIN, "The video on the product page does not play, it only shows an error."),
    ("billing", _GIFT, "My gift card does not show up in my account."),
    ("shipping", _DAMAGED, "Two of the six glasses were shattered on arrival."),
    ("returns", _PLAIN, "I sent the headphones back a week ago. Has my return come in?"),
    ("account", _PLAIN, "My profile still shows my old surname. How do I correct it?"),
    ("technical", _PLAIN, "The page freezes whenever I upload a photo for a review."),
    ("billing", _PLAIN, "What is the fee of three euros on my credit card statement?"),
    ("shipping", _PLAIN, "Which courier brings my parcel, and when?"),
    ("returns", _PLAIN, "I would like to exchange these trousers for a larger size."),
    ("account", _PLAIN, "I never got the email that confirms my registration."),
    ("technical", _PLAIN, "Since the last update the app shows all prices as zero."),
    ("billing", _GIFT, "The gift card page gives an error each time I check what is left on it."),
    ("shipping", _DAMAGED, "The vase I ordered came in pieces."),
    ("returns", _PLAIN, "This coat is not what I expected. I do not want to keep it."),
    ("account", _PLAIN, "Can I merge my two user profiles into one?"),
    ("technical", _PLAIN, "Dark mode makes the text of the site unreadable."),
)
MESSAGES: tuple[Message, ...] = tuple(
    Message(f"m-{number:02}", queue, kind, text) for number, (queue, kind, text) in enumerate(_WRITTEN, start=1)
)

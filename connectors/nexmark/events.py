"""The events of Nexmark as functions of their numbers: columns by name, for each kind of event.

The constants are those of the published generator.  The random numbers are not: here they are hashes of the
seed, the column and the number of the event.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.compiler.sqltypes import BIGINT, STRING, TIMESTAMP
from fsql.connectors.generated.zipf_words import mix
from fsql.runtime.arrow_types import arrow_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.arrays import Ints

    Column = tuple[SqlType, Callable[["Nexmark", Ints], pa.Array]]

PROPORTION: Final = 50
PERSONS: Final = 1
AUCTIONS: Final = 3
_FIRST_ID: Final = 1000
_FIRST_CATEGORY: Final = 10
_CATEGORIES: Final = 5
_HOT_EVERY: Final = 100
_HOT_AUCTION_RATIO: Final = 2
_HOT_PERSON_RATIO: Final = 4
_AUCTIONS_IN_FLIGHT: Final = 100
_ACTIVE_PERSONS: Final = 1000
_HOT_CHANNELS: Final = ("Google", "Facebook", "Baidu", "Apple")
_CHANNELS: Final = 10_000
_AUCTION_EVENTS_MAX: Final = 2 * _AUCTIONS_IN_FLIGHT * PROPORTION // AUCTIONS
_FIRST_TIME: Final = parse_timestamp("2015-07-15")
_MS: Final = 1000
_STATES: Final = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES: Final = (
    "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent",
    "Cheyenne",
)  # fmt: skip
_FIRST_NAMES: Final = (
    "Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter",
)  # fmt: skip
_LAST_NAMES: Final = (
    "Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris",
)  # fmt: skip
_LETTERS: Final = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)


class Nexmark:
    """The events of one seed, `event_rate` of them per second of event time."""

    def __init__(self, seed: int, event_rate: int) -> None:
        self._seed = seed
        self._rate = event_rate

    def below(self, purpose: str, numbers: Ints, limit: int | Ints) -> Ints:
        """Return random numbers in `[0, limit)`, one for each event; each `purpose` has different ones."""
        digest = hashlib.sha256(f"{self._seed} {purpose}".encode()).digest()
        key = np.uint64(int.from_bytes(digest[:8], "little"))
        hashes = mix(mix(numbers.view(np.uint64) + key) + key)
        return (hashes % np.asarray(limit).astype(np.uint64)).astype(np.int64)

    def times(self, numbers: Ints) -> Ints:
        """Return the event times, in microseconds, which are whole milliseconds."""
        return _FIRST_TIME + numbers * 1000 // self._rate * _MS

    def price(self, purpose: str, numbers: Ints) -> Ints:
        """Return prices from 1.00 to 1,000,000.00, in cents."""
        # Rounding to cents hides the last bit of powers of ten, in which machines may differ.
        return _PRICES[self.below(purpose, numbers, len(_PRICES))]

    def text(self, purpose: str, numbers: Ints, length: int) -> pa.Array:
        """Return texts of `length` letters."""
        numbers_of_letters = np.repeat(numbers, length) * length + np.tile(
            np.arange(length), len(numbers)
        )
        data = _LETTERS[self.below(purpose, numbers_of_letters, len(_LETTERS))]
        offsets = np.arange(len(numbers) + 1, dtype=np.int32) * length
        return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), pa.py_buffer(data))

    def one_of(self, purpose: str, numbers: Ints, texts: tuple[str, ...]) -> pa.Array:
        """Return one of the texts for each event."""
        return pa.array(texts).take(pa.array(self.below(purpose, numbers, len(texts))))

    def person(self, purpose: str, numbers: Ints, *, hot: int) -> Ints:
        """Return ids of earlier persons; `hot` is the index, in each hundred, of the hot person."""
        last = last_person(numbers)
        hot_ones = last // _HOT_EVERY * _HOT_EVERY + hot
        active = np.minimum(last + 1, _ACTIVE_PERSONS)
        others = last - self.below(f"{purpose} of all", numbers, active)
        is_hot = self.below(f"{purpose} is hot", numbers, _HOT_PERSON_RATIO) > 0
        return _FIRST_ID + np.where(is_hot, np.minimum(hot_ones, last), others)

    def auction(self, numbers: Ints) -> Ints:
        """Return ids of earlier auctions."""
        last = last_auction(numbers)
        hot_ones = last // _HOT_EVERY * _HOT_EVERY
        in_flight = np.minimum(last + 1, _AUCTIONS_IN_FLIGHT)
        others = last - self.below("auction of all", numbers, in_flight)
        is_hot = self.below("auction is hot", numbers, _HOT_AUCTION_RATIO) > 0
        return _FIRST_ID + np.where(is_hot, hot_ones, others)

    def channel(self, numbers: Ints) -> pa.Array:
        """Return the channels of bids, half of which are one of the four hot ones."""
        hot = self.one_of("hot channel", numbers, _HOT_CHANNELS)
        number = pa.array(self._channel_number(numbers)).cast(pa.string())
        return pc.if_else(pa.array(self._hot_channel(numbers)), hot, _join_text("channel-", number))

    def channel_id(self, numbers: Ints) -> pa.Array:
        """Return the part of the address for channels that are not hot, for nine of ten of them."""
        channels = self._channel_number(numbers)
        ids = pa.array(self.below("channel id", channels, 1 << 31)).cast(pa.string())
        has_none = self._hot_channel(numbers) | (
            self.below("channel without id", channels, 10) == 0
        )
        return pc.if_else(pa.array(has_none), "", _join_text("&channel_id=", ids))

    def _channel_number(self, numbers: Ints) -> Ints:
        return self.below("channel", numbers, _CHANNELS)

    def _hot_channel(self, numbers: Ints) -> NDArray[np.bool_]:
        return self.below("channel is hot", numbers, 2) > 0

    def expires(self, numbers: Ints) -> Ints:
        """Return the end times of auctions: within the time in which twice the open auctions begin."""
        events = 1 + self.below("length", numbers, _AUCTION_EVENTS_MAX)
        return self.times(numbers + events)


def _prices() -> Ints:
    steps = [round(10 ** (step * 6 / 65_536) * 100) for step in range(65_536)]
    return np.array(steps, np.int64)


_PRICES: Final = _prices()


def last_person(numbers: Ints) -> Ints:
    """Return the last person, from 0, up to each event."""
    return numbers // PROPORTION


def last_auction(numbers: Ints) -> Ints:
    """Return the last auction, from 0, up to each event; 0 before the first."""
    within = numbers % PROPORTION
    auctions = np.clip(within - PERSONS + 1, 0, AUCTIONS)
    return np.maximum(numbers // PROPORTION * AUCTIONS + auctions - 1, 0)


def event_numbers(kind: str, rows: Ints) -> Ints:
    """Return the event numbers of the rows of a table with this kind of events."""
    if kind == "all":
        return rows
    first, count = kind_range(kind)
    return rows // count * PROPORTION + first + rows % count


def kind_range(kind: str) -> tuple[int, int]:
    """Return the index of the first of 50 events that is of a kind, and their number."""
    return {
        "person": (0, PERSONS),
        "auction": (PERSONS, AUCTIONS),
        "bid": (PERSONS + AUCTIONS, PROPORTION - PERSONS - AUCTIONS),
        "all": (0, PROPORTION),
    }[kind]


def rows_of(kind: str, events: int) -> int:
    """Return how many of the first `events` events are of a kind."""
    first, count = kind_range(kind)
    return events // PROPORTION * count + min(max(events % PROPORTION - first, 0), count)


def _join_text(*parts: object) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def _name(events: Nexmark, numbers: Ints) -> pa.Array:
    first = events.one_of("first name", numbers, _FIRST_NAMES)
    return _join_text(first, " ", events.one_of("last name", numbers, _LAST_NAMES))


def _email(events: Nexmark, numbers: Ints) -> pa.Array:
    return _join_text(events.text("user", numbers, 7), "@", events.text("host", numbers, 5), ".com")


def _card(events: Nexmark, numbers: Ints) -> pa.Array:
    digits = [
        pc.utf8_lpad(
            pa.array(events.below(f"card {part}", numbers, 10_000)).cast(pa.string()), 4, "0"
        )
        for part in range(4)
    ]
    return pc.binary_join_element_wise(*digits, " ")


def _url(events: Nexmark, numbers: Ints) -> pa.Array:
    parts = [events.text(f"url {part}", numbers, 4) for part in range(3)]
    path = pc.binary_join_element_wise(*parts, "/")
    return _join_text(
        "https://www.nexmark.com/", path, "/item.htm?query=1", events.channel_id(numbers)
    )


def _time(values: Ints) -> pa.Array:
    return pa.array(values).cast(arrow_type(TIMESTAMP))


_DATE_TIME: Final[Column] = (TIMESTAMP, lambda events, n: _time(events.times(n)))
_EXTRA: Final[Column] = (STRING, lambda events, n: events.text("extra", n, 16))

PERSON: Final[Mapping[str, Column]] = {
    "id": (BIGINT, lambda _, n: pa.array(_FIRST_ID + last_person(n))),
    "name": (STRING, _name),
    "emailAddress": (STRING, _email),
    "creditCard": (STRING, _card),
    "city": (STRING, lambda events, n: events.one_of("city", n, _CITIES)),
    "state": (STRING, lambda events, n: events.one_of("state", n, _STATES)),
    "dateTime": _DATE_TIME,
    "extra": _EXTRA,
}
AUCTION: Final[Mapping[str, Column]] = {
    "id": (BIGINT, lambda _, n: pa.array(_FIRST_ID + last_auction(n))),
    "itemName": (STRING, lambda events, n: events.text("item", n, 12)),
    "description": (STRING, lambda events, n: events.text("description", n, 40)),
    "initialBid": (BIGINT, lambda events, n: pa.array(events.price("initial bid", n))),
    "reserve": (
        BIGINT,
        lambda events, n: pa.array(events.price("initial bid", n) + events.price("reserve", n)),
    ),
    "dateTime": _DATE_TIME,
    "expires": (TIMESTAMP, lambda events, n: _time(events.expires(n))),
    "seller": (BIGINT, lambda events, n: pa.array(events.person("seller", n, hot=0))),
    "category": (
        BIGINT,
        lambda events, n: pa.array(_FIRST_CATEGORY + events.below("category", n, _CATEGORIES)),
    ),
    "extra": _EXTRA,
}
BID: Final[Mapping[str, Column]] = {
    "auction": (BIGINT, lambda events, n: pa.array(events.auction(n))),
    "bidder": (BIGINT, lambda events, n: pa.array(events.person("bidder", n, hot=1))),
    "price": (BIGINT, lambda events, n: pa.array(events.price("price", n))),
    "channel": (STRING, lambda events, n: events.channel(n)),
    "url": (STRING, _url),
    "dateTime": _DATE_TIME,
    "extra": _EXTRA,
}
KINDS: Final[Mapping[str, Mapping[str, Column]]] = {
    "person": PERSON,
    "auction": AUCTION,
    "bid": BID,
}
DATE_TIME: Final = "dateTime"
EVENT_TYPE: Final = "event_type"

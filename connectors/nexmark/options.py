"""The options of connector `nexmark`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import TIME_OPTIONS, Connector, Effect, InputEnd, Option, OptionKind

EVENTS: Final = ("all", "person", "auction", "bid")

CONNECTOR: Final = Connector(
    "nexmark",
    "the persons, auctions and bids of the Nexmark benchmark",
    reads=True,
    writes=False,
    end=InputEnd(ends=False, key="count"),
    options=(
        Option(
            "events", OptionKind.CHOICE, "which events are rows of the table", EVENTS, default="all"
        ),
        Option("seed", OptionKind.COUNT, "seed of the generated data", default="0"),
        Option(
            "count",
            OptionKind.COUNT,
            "number of events of all kinds; endless if not given",
            elsewhere=("events.num", "nexmark.event.num"),
        ),
        Option(
            "event_rate",
            OptionKind.POSITIVE,
            "events of all kinds in a second of event time",
            default="10000",
            greatest=1_000_000,
        ),
        Option(
            "rate",
            OptionKind.POSITIVE,
            "rows a second of the clock; as fast as possible if not given",
            effect=Effect.PACE,
        ),
        *TIME_OPTIONS,
    ),
    notes="""\
Of 50 events one is a person, three are auctions and 46 are bids, in this order. Event time begins at
2015-07-15 and goes up with each event. Half of the bids are for a hot auction, three quarters of bids and
auctions are by hot persons; the hot ones change every hundred auctions or persons. Prices are spread evenly
by their logarithm. Half of the bids are of one of four channels; the address of the others, of nine channels
in ten, ends with `&channel_id=` and a number.

The columns are a choice of these, with these names and types:

* `person`: id BIGINT, name, emailAddress, creditCard, city, state STRING, dateTime TIMESTAMP, extra STRING
* `auction`: id BIGINT, itemName, description STRING, initialBid, reserve BIGINT, dateTime, expires TIMESTAMP,
  seller, category BIGINT, extra STRING
* `bid`: auction, bidder, price BIGINT, channel, url STRING, dateTime TIMESTAMP, extra STRING
* `all`: event_type INT (0 is a person, 1 an auction, 2 a bid), person, auction, bid, each a ROW of columns
  above and NULL in other events, dateTime TIMESTAMP

Each event depends on the seed and its number alone: tables of the same seed belong together.
""",
)

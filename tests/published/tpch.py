"""Small tables of TPC-H: few distinct values, so that each of its queries finds some rows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

_REGIONS: Final = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
_NATIONS: Final = (
    *(("EGYPT", 0), ("BRAZIL", 1), ("CANADA", 1), ("UNITED STATES", 1), ("CHINA", 2)),
    *(("INDIA", 2), ("FRANCE", 3), ("GERMANY", 3), ("ROMANIA", 3), ("SAUDI ARABIA", 4)),
)
_SUPPLIERS: Final = 20
_PARTS: Final = 40
_CUSTOMERS: Final = 50
_ORDERS: Final = 250
_FIRST_DAY: Final = dt.date(1993, 1, 1)
_DAYS: Final = 1_500
_INT: Final = pa.int32()
_KEY: Final = pa.int64()
_MONEY: Final = pa.decimal128(15, 2)
_TEXT: Final = pa.string()
_DATE: Final = pa.date32()


def _table(
    columns: Sequence[tuple[str, pa.DataType]], rows: Sequence[Sequence[object]]
) -> pa.Table:
    values = zip(*rows, strict=True)
    return pa.table(
        {name: pa.array(column, kind) for (name, kind), column in zip(columns, values, strict=True)}
    )


def _day(random: Random) -> dt.date:
    return _FIRST_DAY + dt.timedelta(days=random.randrange(_DAYS))


def _money(random: Random, least: int, greatest: int) -> Decimal:
    return Decimal(random.randint(least, greatest)) / 100


def _phone(random: Random, nation: int) -> str:
    return f"{nation + 10}-{random.randint(100, 999)}"


def tpch_tables(random: Random) -> dict[str, pa.Table]:
    """Return the eight tables, drawn."""
    choice, parts = random.choice, range(1, _PARTS + 1)
    suppliers = [
        (
            key,
            f"Supplier#{key:03}",
            f"{key} Quay",
            nation := (key * 7) % len(_NATIONS),
            _phone(random, nation),
            _money(random, -90_000, 900_000),
            choice(("", "slow", "Customer has Complaints")),
        )
        for key in range(1, _SUPPLIERS + 1)
    ]
    part = [
        (
            key,
            f"{choice(('forest', 'green', 'sky'))} {choice(('green', 'red', 'blue'))}",
            f"Manufacturer#{choice((1, 2))}",
            choice(("Brand#12", "Brand#23", "Brand#34", "Brand#45")),
            choice(("ECONOMY ANODIZED STEEL", "PROMO BURNISHED BRASS", "MEDIUM POLISHED TIN")),
            choice((3, 9, 15, 15)),
            choice(("SM CASE", "MED BOX", "LG PACK")),
            _money(random, 90_000, 110_000),
            "",
        )
        for key in parts
    ]
    partsupp = [
        (
            key,
            (key * 3 + step * 6) % _SUPPLIERS + 1,
            random.randint(1, 400),
            _money(random, 100, 90_000),
            "",
        )
        for key in parts
        for step in range(3)
    ]
    customer = [
        (
            key,
            f"Customer#{key:03}",
            f"{key} Lane",
            nation := (key * 3) % len(_NATIONS),
            _phone(random, nation),
            _money(random, -90_000, 900_000),
            choice(("BUILDING", "MACHINERY")),
            "",
        )
        for key in range(1, _CUSTOMERS + 1)
    ]
    orders, lineitem = [], []
    for key in range(1, _ORDERS + 1):
        ordered = _day(random)
        orders.append(
            (
                key,
                random.randint(1, _CUSTOMERS * 4 // 5),
                choice(("F", "O")),
                _money(random, 100_000, 9_000_000),
                ordered,
                choice(("1-URGENT", "2-HIGH", "3-MEDIUM", "5-LOW")),
                "Clerk#1",
                0,
                choice(("", "special care, requests follow")),
            )
        )
        for line in range(1, random.randint(2, 8)):
            sold_part, seller = choice(partsupp)[:2]
            shipped = ordered + dt.timedelta(days=random.randint(1, 90))
            promised = ordered + dt.timedelta(days=random.randint(30, 90))
            lineitem.append(
                (
                    key,
                    sold_part,
                    seller,
                    line,
                    Decimal(random.randint(1, 50)),
                    _money(random, 90_000, 9_000_000),
                    _money(random, 0, 10),
                    _money(random, 0, 8),
                    choice("RAN"),
                    choice("OF"),
                    shipped,
                    promised,
                    shipped + dt.timedelta(days=random.randint(1, 30)),
                    choice(("DELIVER IN PERSON", "NONE")),
                    choice(("AIR", "MAIL", "SHIP")),
                    "",
                )
            )
    return {
        "region": _table(
            (("r_regionkey", _INT), ("r_name", _TEXT), ("r_comment", _TEXT)),
            [(key, name, "") for key, name in enumerate(_REGIONS)],
        ),
        "nation": _table(
            (("n_nationkey", _INT), ("n_name", _TEXT), ("n_regionkey", _INT), ("n_comment", _TEXT)),
            [(key, name, region, "") for key, (name, region) in enumerate(_NATIONS)],
        ),
        "supplier": _table(
            (
                *(("s_suppkey", _KEY), ("s_name", _TEXT), ("s_address", _TEXT)),
                *(
                    ("s_nationkey", _INT),
                    ("s_phone", _TEXT),
                    ("s_acctbal", _MONEY),
                    ("s_comment", _TEXT),
                ),
            ),
            suppliers,
        ),
        "part": _table(
            (
                *(("p_partkey", _KEY), ("p_name", _TEXT), ("p_mfgr", _TEXT), ("p_brand", _TEXT)),
                *(("p_type", _TEXT), ("p_size", _INT), ("p_container", _TEXT)),
                *(("p_retailprice", _MONEY), ("p_comment", _TEXT)),
            ),
            part,
        ),
        "partsupp": _table(
            (
                *(("ps_partkey", _KEY), ("ps_suppkey", _KEY), ("ps_availqty", _INT)),
                *(("ps_supplycost", _MONEY), ("ps_comment", _TEXT)),
            ),
            partsupp,
        ),
        "customer": _table(
            (
                *(
                    ("c_custkey", _KEY),
                    ("c_name", _TEXT),
                    ("c_address", _TEXT),
                    ("c_nationkey", _INT),
                ),
                *(
                    ("c_phone", _TEXT),
                    ("c_acctbal", _MONEY),
                    ("c_mktsegment", _TEXT),
                    ("c_comment", _TEXT),
                ),
            ),
            customer,
        ),
        "orders": _table(
            (
                *(("o_orderkey", _KEY), ("o_custkey", _KEY), ("o_orderstatus", _TEXT)),
                *(("o_totalprice", _MONEY), ("o_orderdate", _DATE), ("o_orderpriority", _TEXT)),
                *(("o_clerk", _TEXT), ("o_shippriority", _INT), ("o_comment", _TEXT)),
            ),
            orders,
        ),
        "lineitem": _table(
            (
                *(
                    ("l_orderkey", _KEY),
                    ("l_partkey", _KEY),
                    ("l_suppkey", _KEY),
                    ("l_linenumber", _INT),
                ),
                *(("l_quantity", _MONEY), ("l_extendedprice", _MONEY), ("l_discount", _MONEY)),
                *(("l_tax", _MONEY), ("l_returnflag", _TEXT), ("l_linestatus", _TEXT)),
                *(("l_shipdate", _DATE), ("l_commitdate", _DATE), ("l_receiptdate", _DATE)),
                *(("l_shipinstruct", _TEXT), ("l_shipmode", _TEXT), ("l_comment", _TEXT)),
            ),
            lineitem,
        ),
    }


TPCH: Final = tpch_tables(Random(1))

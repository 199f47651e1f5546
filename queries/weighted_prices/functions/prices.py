"""Aggregate functions of prices."""

from fsql import udaf


@udaf(["BIGINT", "BIGINT"], "DOUBLE", state="ROW<turnover BIGINT, shares BIGINT>")
class WeightedPrice:
    """The mean price of a share: each trade counts as often as it has shares."""

    def create_accumulator(self):
        return {"turnover": 0, "shares": 0}

    def accumulate(self, accumulator, price, shares):
        accumulator["turnover"] += price * shares
        accumulator["shares"] += shares

    def retract(self, accumulator, price, shares):
        accumulator["turnover"] -= price * shares
        accumulator["shares"] -= shares

    def get_value(self, accumulator):
        return accumulator["turnover"] / accumulator["shares"]

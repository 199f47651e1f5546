"""Totals between barriers."""

from fsql import program


@program(state="BIGINT", columns=["label STRING", "total BIGINT", "at TIMESTAMP"], tag="STRING")
class Totals:
    """The sum of the amounts since the last barrier, at each barrier."""

    def init(self):
        return 0

    def update(self, total, tag, row):
        if tag == "amount":
            return total + row["amount"], []
        return 0, [(row["label"], total, row["at"])]

    def depends(self, tag, other):
        return "barrier" in (tag, other)

    def fork(self, total, left, right):
        return total, 0

    def join(self, left, right):
        return left + right

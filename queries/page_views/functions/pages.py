"""Views of pages with what is known of the page."""

from fsql import program


@program(
    state="ROW<version BIGINT, title STRING>",
    columns=["page STRING", "visitor BIGINT", "title STRING", "at TIMESTAMP"],
    tag="ROW<kind STRING, page STRING>",
    key=["page"],
)
class Pages:
    """The title of a page: views read it, an event of the kind 'title' returns it and changes it."""

    def init(self):
        return {"version": 0, "title": None}

    def update(self, known, tag, row):
        rows = [(row["page"], row["visitor"], known["title"], row["at"])]
        if tag["kind"] == "title":
            known = {"version": known["version"] + 1, "title": row["title"]}
        return known, rows

    def depends(self, tag, other):
        return tag["page"] == other["page"] and "title" in (tag["kind"], other["kind"])

    def fork(self, known, left, right):
        return known, known

    def join(self, left, right):
        return left if left["version"] >= right["version"] else right

"""From bound queries to logical operators: no names, no syntax, no other system.

| module       | what it plans                                                                     |
|--------------|-----------------------------------------------------------------------------------|
| `select`     | a SELECT: the tuple of passes, one clause each, in SQL's order of evaluation      |
| `grouping`   | GROUP BY, DISTINCT, grouping sets; which window closes a group                    |
| `over`       | running aggregates, frames in any order, ranks                                    |
| `subqueries` | subqueries as values                                                              |
| `joins`      | joins that wait until the time of their rows has passed                           |
| `lifetimes`  | groups and rows of joins that end some time after the last row                    |
| `line_chart` | the columns of M4 in FROM: windows with the points of a line, as columns             |
| `rows`       | projections and filters, on which all others stand                                |
"""

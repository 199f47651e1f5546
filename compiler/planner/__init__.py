"""From bound queries to logical operators: no names, no syntax, no other system.

| module           | what it plans                                                                |
|------------------|------------------------------------------------------------------------------|
| `select`         | a SELECT: the tuple of passes, one clause each, in SQL's order of evaluation |
| `grouping`       | GROUP BY, DISTINCT, grouping sets; which window closes a group               |
| `over`           | running aggregates, frames in any order, ranks                               |
| `set_operations` | UNION, INTERSECT, EXCEPT                                                     |
| `order`          | ORDER BY, LIMIT, OFFSET; rows in the order of event time                     |
| `joins`          | joins in time: ranges, versions, rows that wait until their time has passed  |
| `line_chart`     | the columns of M4 in FROM: windows with the points of a line, as columns     |
| `programs`       | programs: a running aggregate by the key, and the rows of each event         |
| `lifetimes`      | groups and rows of joins that end some time after the last row               |
| `rows`           | projections and filters, on which all others stand                           |
"""

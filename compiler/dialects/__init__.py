"""Forms of other systems, each a function on syntax that writes it in the standard forms of this language.

`registry` is the table of them: which system has a form, what it becomes, and which function does that.
`standard_forms` applies it to a script between parsing and binding, so that nothing after it sees another
system.  A package is one system, which nothing imports: the functions of rows are loaded by their names where
a form occurs.  The `manual` of a package has its tables of `docs/coming_from.md`.

| module             | what it is about                                              |
|--------------------|---------------------------------------------------------------|
| `registry`         | the table                                                     |
| `standard_forms`   | the pass over calls, and windows as values                    |
| `standard_options` | the pass over options of tables and settings                  |
| `advice`           | what to write for what has no counterpart here                |
| `aggregates`       | aggregates that several systems name differently              |
| `exploded_items`   | calls in SELECT that give several rows                        |
| `json_elements`    | calls in FROM that give the elements of JSON                  |
| `arroyo`           | windows as values                                             |
| `flink`            | options and settings                                          |
| `ksqldb`           | functions, windows, options of topics                         |
| `risingwave`       | sources, sinks, changelogs                                    |
| `warehouses`       | functions and joins of Snowflake, BigQuery, Spark             |
"""

"""Forms of other systems, each a function on syntax that writes it in the standard forms of this language.

`registry` is the table of them: which system has a form, what it becomes, and which function does that.
`standard_forms` applies it to a script between parsing and binding, so that nothing after it sees another
system.  A package is one system, and no other package imports it; its modules are imported where one of its
forms occurs.

| module           | what it is about                                                |
|------------------|-----------------------------------------------------------------|
| `registry`       | the table                                                       |
| `standard_forms` | the pass over calls                                             |
| `standard_options` | the pass over options of tables and settings                  |
| `advice`         | what to write for what has no counterpart here                  |
| `aggregates`     | aggregates that several systems name differently                |
| `arroyo`         | windows as values                                               |
| `flink`          | options and settings                                            |
| `ksqldb`         | functions, options of topics                                    |
| `postgres`       | elements of JSON                                                |
| `risingwave`     | options of sinks                                                |
| `warehouses`     | functions of Snowflake, BigQuery, Spark, DuckDB and the like    |
"""

"""The wire protocol of PostgreSQL (version 3), for queries over results.

| module     | contents                                                                    |
|------------|-----------------------------------------------------------------------------|
| `messages` | messages as bytes                                                           |
| `values`   | types and values as PostgreSQL has them, as text and binary                 |
| `scram`    | SCRAM-SHA-256, the server's part                                            |
| `catalog`  | the tables of the catalog that clients ask for                              |
| `commands` | what a statement is: a query, one of the catalog, a setting, a transaction  |
| `session`  | one connection                                                              |
"""

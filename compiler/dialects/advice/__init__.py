"""What to write here for what other systems have and this language does not, for the helps of errors.

| module      | what it is about                                          |
|-------------|-----------------------------------------------------------|
| `syntax`    | statements, clauses, words and signs                      |
| `functions` | functions, and functions that take other arguments        |
| `options`   | connectors, formats and options                           |
| `types`     | types                                                     |

The modules are imported by the first error that asks for a help.
"""

"""Programs with dependence: what a user writes as a class, as data for everything else.

| module       | contents                                                                     |
|--------------|------------------------------------------------------------------------------|
| `program`    | the `Program`: state types, tag, dependence, and the functions of the class  |
| `declaration`| `@fsql.program`, which declares a class, and `program_of`, which reads it    |

Types are SQL text and values are those of Python: nothing here knows rows, plans or workers.
"""

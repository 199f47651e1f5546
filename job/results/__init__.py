"""The results of running jobs, read from their logs: tables at one position, queries, streams of changes.

| module          | contents                                                                    |
|-----------------|-----------------------------------------------------------------------------|
| `current_rows`  | the rows of one result after its changes, found by key                      |
| `log_reader`    | follows the log of one result                                               |
| `job_results`   | all results of a job, at one position; rewrites their logs                  |
| `key_query`     | queries that name a key, which are answered without the engine              |
| `answers`       | answers of queries: rows, with their position                               |
| `subscriptions` | the changes of one result from a position on                                |
| `result_schema` | the columns of a result, as its log names them                              |
| `plain_values`  | values of answers as JSON has them                                          |
| `position`      | positions as texts, which clients send back                                 |
| `running_job`   | the library: `fsql.attach`                                                  |
"""

"""The commands of `fsql`.  `cli` and the modules `*_commands` define their flags.

| module                                              | contents                                          |
|-----------------------------------------------------|---------------------------------------------------|
| `commands`, `flags`, `exit_codes`                   | shared by all commands                            |
| `reporter`                                          | messages on standard error: colours, `--json`     |
| `internal_error`, `interrupt`, `broken_pipe`        | internal errors; signals; a closed standard output|
| `run`, `process_run`                                | `fsql run` in one process and in several          |
| `before_run`, `unused_parameters`                   | warnings before the first row                     |
| `standard_output`, `change_table`                   | the rows of a bare SELECT                         |
| `progress`, `panel`, `job_progress`                 | progress while a job runs                         |
| `summary`                                           | the summary at the end                            |
| `process_commands`                                  | the processes of a run                            |
| `check`, `connectors`, `error_code`                 | `fsql check`, `connectors`, `explain-error`       |
| `consume`                                           | `fsql consume`                                    |
| `merge_command`, `merge`                            | `fsql merge`                                      |
| `snapshots`, `snapshot_commands`                    | `fsql snapshot`                                   |
| `sim`, `sim_commands`, `sim_progress`, `sim_queries`| `fsql sim`                                        |
"""

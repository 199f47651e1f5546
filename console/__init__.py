"""The commands of `fsql`.  `cli` and the modules `*_commands` and `*_command` define their flags.

| module                                               | contents                                           |
|------------------------------------------------------|----------------------------------------------------|
| `commands`, `flags`, `run_flags`, `exit_codes`       | shared by all commands; the flags of `fsql run`    |
| `reporter`                                           | messages on standard error: colours, `--json`      |
| `internal_error`, `interrupt`, `broken_pipe`         | internal errors; signals; a closed standard output |
| `run`, `process_run`                                 | `fsql run` in one process and in several           |
| `before_run`, `unused_parameters`                    | warnings before the first row                      |
| `time_warnings`                                      | warnings about event times                         |
| `standard_output`, `change_table`, `inspections`     | the rows of a bare SELECT; what SHOW prints        |
| `explained_run`                                      | the plan of a run with the rows of its operators   |
| `progress`, `panel`, `rates`, `job_progress`         | progress while a job runs                          |
| `summary`                                            | the summary at the end                             |
| `text_table`, `chart`, `written_file`                | tables, charts and files that commands write       |
| `process_commands`, `forked_commands`                | the processes of a run                             |
| `check_command`, `check`                             | `fsql check`                                       |
| `compile_command`, `fmt_command`                     | `fsql compile`, `fsql fmt`                         |
| `reference_commands`, `connectors`, `error_code`     | `fsql connectors`, `fsql explain-error`            |
| `completion_command`, `datagen_command`              | `fsql completion`, `fsql datagen`                  |
| `consume`                                            | `fsql consume`                                     |
| `merge_command`, `merge`                             | `fsql merge`                                       |
| `snapshot_commands`, `snapshots`, `snapshot_copies`  | `fsql snapshot`                                    |
| `tick_commands`, `ticks`                             | `fsql tick`                                        |
| `tick_records`, `tick_picture`                       | ticks as text, as JSON and as a picture            |
| `explain_job`                                        | `fsql explain` of a job                            |
| `stats_command`, `stats`                             | `fsql stats`                                       |
| `profile`                                            | `fsql stats profile`                               |
| `test_command`, `test_run`, `test_report`            | `fsql test`                                        |
| `sim_commands`, `sim`, `sim_progress`, `sim_queries` | `fsql sim`                                         |
| `keys_commands`, `zookeeper_command`                 | `fsql keys`, `fsql zookeeper`                      |
| `cluster_commands`, `job_commands`, `connections`    | deployed jobs: their commands and flags            |
| `deploy`, `job_status`, `last_ticks`, `job_logs`     | deployed jobs: what the commands do and print      |
| `job_script`                                         | `fsql script`                                      |
| `bootstrap`                                          | `fsql deploy --bootstrap`                          |
| `machines`                                           | the agents of other machines                       |
| `query_command`, `serve_command`                     | `fsql query`, `fsql serve`                         |
| `state_of_job`                                       | the state directory that a command names           |
| `shell_command`, `shell`                             | `fsql shell`                                       |
| `top`, `web`, `project`                              | `fsql top`; `fsql ui`; projects                    |
"""

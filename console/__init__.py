"""What stands behind the `fsql` command, in the order in which a run goes through it.

| module          | what it is about                                                          |
|-----------------|---------------------------------------------------------------------------|
| `script`        | the text that a command is given, and the directory of its paths          |
| `compiled`      | the script brought through all stages                                     |
| `job`           | a compiled job with its sources and sinks opened, planned, and run        |
| `joining`       | where workers join the run, of one on processes                           |
| `state_directory` | where such a run keeps what its job remembers                           |
| `job_progress`        | how such a run goes                                                       |
| `file_uses`     | that no file is written by one table and used by another                  |
| `outputs`       | what a job writes, opened: sinks, late rows, rejects                      |
| `places`        | where in a script an option stands, for errors about what it names        |
| `open_files`    | how many files may be open                                                |
| `interrupt`     | Ctrl-C and SIGTERM                                                        |
| `broken_pipe`   | standard output whose reader has had enough                               |
| `progress`      | what is seen while a job runs: `panel` on a terminal, lines elsewhere     |
| `summary`       | what a run comes to                                                       |
| `stop`          | why a job stopped, down to the row                                        |
| `reporter`          | what is said on standard error: colours, errors, `--json`                 |
| `check`, `explained`, `error_code` | the other commands                                 |
| `exit_codes`    | what a command returns to the shell                                       |

`cli` reads the flags and calls; the modules here know nothing of click.
"""

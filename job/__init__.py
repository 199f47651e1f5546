"""The job: a script compiled, its sources and sinks opened, planned and run.

The layer between the runtime and whoever runs jobs: the console, the library, the worker processes.  It knows
files and directories, and nothing of terminals.

| module            | what it is about                                                        |
|-------------------|-------------------------------------------------------------------------|
| `script`          | the text of a job, and the directory that its paths start from          |
| `compiled`        | the script at every stage of compilation                                |
| `file_uses`       | no file is written by one table and used by another                     |
| `places`          | where in a script an option stands, for errors about what it names      |
| `run`             | sources opened, the tick plan chosen, a run in this process             |
| `outputs`, `sinks`| what a job writes, opened                                               |
| `description`     | the job as its processes tell each other                                |
| `state_directory` | what outlives a run                                                     |
| `stop`            | why a job stopped: the row and the expression at fault                  |
"""

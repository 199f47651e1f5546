"""The job layer and the library: compile a script, open its sources and sinks, plan and run it.

The console, the library and the worker processes use it.  It knows files and directories, and no terminals.

| module             | contents                                                                      |
|--------------------|-------------------------------------------------------------------------------|
| `script`           | the text of a job, and the directory that relative paths start from           |
| `stages`           | all stages from text to tick plan, with their verifiers                       |
| `compilation`      | a compiled script, with the data of each stage                                |
| `inspections`      | what SHOW, DESCRIBE and EXPLAIN ask for, as lists                             |
| `explain_stage`    | a script at one stage, as `fsql explain` prints it                            |
| `run`              | runs a compiled job in this process                                           |
| `process_run`      | runs a compiled job on processes, and reports to an observer                  |
| `process_metrics` | what a run on processes has done, over all its epochs                         |
| `silent_process_run` | a run on processes for the library: it reports nothing                      |
| `written`          | what a run has written where, and which rows it has dropped                   |
| `entry_points`     | the entry points of coordinator and worker processes                          |
| `listener`, `join_deadline` | workers that are started by hand                                     |
| `standard_output_server` | takes rows for standard output from the processes                       |
| `outputs`, `sinks` | open what a job writes, in one process and in several                         |
| `file_uses`        | checks that no file is written by one table and used by another               |
| `overview`         | the sources and sinks of a job by name, for the panel and the summary         |
| `open_files`       | the limit of open files                                                       |
| `input_warnings`   | warnings about missing inputs and about the first rows                        |
| `places`           | the spans of options, for errors about what they name                         |
| `description`      | the description of a job that its processes exchange                          |
| `state_directory`  | the directory that keeps state between runs                                   |
| `stop`             | why a job stopped: the row at fault                                           |
| `failing_place`    | the expression at fault in the script                                         |
| `ticks`            | proposes ticks to a running job, and reads what has become of them            |
| `session`          | the library: `sql`, `compile`, `run`, `Session`                               |
| `memory`, `changes`| tables of the library's user; the results that the user gets                  |
| `errors`           | the exceptions of the library                                                 |
"""

"""The job layer and the library: compile a script, open its sources and sinks, plan and run it.

The console, the library and the worker processes use it.  It handles files and directories, but no terminals.

| module                             | contents                                                           |
|------------------------------------|--------------------------------------------------------------------|
| `script`, `script_file`            | the text of a job and what belongs to it; how it is read           |
| `plan_file`                        | compiled plans as files                                            |
| `script_addition`                  | adds the statements of a script to the script of a job             |
| `relocated_script`                 | the statements of a script within that of a job                    |
| `script_meaning`                   | compares what two scripts declare                                  |
| `stages`                           | all stages from text to tick plan, with their verifiers            |
| `compilation`                      | a compiled script, with the data of each stage                     |
| `inferred_columns`                 | columns that a script does not declare                             |
| `functions`, `udf`                 | functions of scripts in Python, and how they are declared          |
| `explain_stage`, `inspections`     | a script at one stage; what SHOW and DESCRIBE ask for              |
| `explain_run`                      | the logical plan with the rows of a run                            |
| `explain_ticks`, `plan_in_force`   | the plan of a job after its ticks, and what the next would change  |
| `sources`                          | opens the sources of a job, or checks that they can be opened      |
| `planning`                         | chooses the tick plan of a job for the splits of its sources       |
| `profile`, `table_profile`         | profiles input at rest, and tables that Spark knows instead of it  |
| `first_plan`                       | the plan with which a job starts, by a profile                     |
| `run`, `spark`                     | runs a compiled job in this process, or on Spark                   |
| `process_run`                      | runs a compiled job on processes, and reports to an observer       |
| `process_options`, `process_flags` | the options of such a run; the command lines of its processes      |
| `process_observer`                 | what is reported to an observer                                    |
| `process_metrics`, `run_outcome`   | what such a run has done over all its epochs; how it has ended     |
| `silent_process_run`               | a run on processes for the library: it reports nothing             |
| `entry_points`, `hosting`          | the entry points of its processes; which node is in which          |
| `listener`, `join_deadline`        | workers that are started by hand                                   |
| `node_network`, `leader_finder`    | how the processes of a run find and reach each other               |
| `coordination`                     | coordination of a job: a file in its state directory, or ZooKeeper |
| `standard_output_server`           | takes rows for standard output from the processes                  |
| `outputs`, `sinks`                 | open what a job writes, in one process and in several              |
| `written`, `shard_merge`           | what a run has written where; merges the shards of a table         |
| `file_uses`                        | checks that no file is written by one table and used by another    |
| `overview`                         | the sources and sinks of a job by name, for display                |
| `open_files`, `small_file`         | the limit of open files; files that a user writes for a command    |
| `input_warnings`                   | warnings about missing inputs and about the first rows             |
| `option_spans`                     | the spans of options, for errors about what they name              |
| `description`                      | the description of a job that its processes exchange               |
| `state_directory`                  | the directory that keeps state between runs                        |
| `state_operators`                  | the stateful operators of a job, by their ids                      |
| `snapshot_request`                 | asks a running job for a snapshot                                  |
| `snapshot_copy`                    | copies of snapshots, and how they are restored                     |
| `spark_daemon`                     | the process from which Spark forks its Python processes            |
| `bootstrap`                        | begins a job with the state of its history, computed on Spark      |
| `graph_diff`, `graph_tick`         | what a changed script does to the state of a job                   |
| `result_differences`               | what it does to the rows of outputs, from the state that is kept   |
| `difference_files`, `kept_state`   | these rows until they are released; the state of a job, to be read |
| `ticks`, `auto_ticks`              | propose ticks to a running job: on request, or from statistics     |
| `owners_file`                      | files with owner maps, for `fsql tick propose --bins`              |
| `readers`                          | who reads each split, for `fsql tick propose --readers`            |
| `choices_file`                     | the choices of a plan in a file that a user edits                  |
| `stop`, `failing_expression`       | the row that stopped a job, and the expression at fault            |
| `row_place`                        | where that row is in its file                                      |
| `session`                          | the library: `sql`, `compile`, `run`, `Session`                    |
| `memory`, `changes`, `net_rows`    | tables of the library's user; the results that the user gets       |
| `result_rows`                      | rows of released changes, as the user sees them                    |
| `live_queries`, `live_changes`     | queries that stay open, and their results                          |
| `session_table`, `inserted_rows`   | tables of a session, and rows inserted into them                   |
| `program_functions`                | functions of the program that scripts of its session call          |
| `python_types`                     | types of Python that stand for SQL types                           |
| `program_queries`                  | what the library asks of a script                                  |
| `changes_display`, `notebooks`     | results at a prompt; the cell magic of notebooks                   |
| `errors`                           | the exceptions of the library                                      |
| `results`                          | the results of running jobs, read from their logs                  |
| `cases`                            | tests that users write for their scripts                           |
"""

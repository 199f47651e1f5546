"""Servers for the results of running jobs: HTTP, and the protocol of PostgreSQL.

| module      | contents                                                                |
|-------------|-------------------------------------------------------------------------|
| `deployed`  | the deployed jobs of a cluster directory, as servers need them          |
| `parts`     | checks that the packages of the servers are installed                   |
| `jobs`      | the jobs that are served, and the thread that follows their results     |
| `http`      | queries, changes, metrics and health over HTTP                          |
| `openapi`   | the description of that                                                 |
| `metrics`   | what Prometheus reads                                                   |
| `postgres`  | queries over the wire protocol of PostgreSQL, and the catalog it needs  |
| `server`    | both servers in one process                                             |

A server reads the logs of results.  It asks nothing of the jobs: whatever its clients do, jobs go on.
"""

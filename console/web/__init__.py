"""`fsql ui`: the jobs of a cluster directory in the browser, and an editor for scripts.

    guard         what each request must have: its limits, the host, the origin, the session
    application   the routes
    watch         the jobs, once a second: the samples of `fsql top`, and how they were before
    job_page      one job: its plan, its log, its late and rejected rows
    editing       what the editor asks: errors, names, scripts, deployment
    trials        the processes that compute results for the page; `trial` is one, `result_kept` what it keeps
    charts        the processes that draw what running jobs have released; `job_charts` is one
    drawing       what charts show: lines, bars
    m4            the points of a line that decide its pixels
    limits        what these processes may use
    server        listens on the loopback interface; limits connections
    frontend/     the page, in TypeScript; `frontend/build.mjs` writes `assets/app.js` and `assets/app.css`

Everything is read from the cluster directory, so jobs are not affected by being watched.
"""

"""`fsql top`: the jobs of a cluster directory, live."""

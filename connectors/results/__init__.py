"""Connector `results`: a result that is kept beside the state of its job, so that it can be asked."""

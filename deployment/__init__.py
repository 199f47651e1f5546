"""Deployed jobs: the agents that keep them running, on this machine and on others, and their changes."""

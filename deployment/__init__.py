"""Deployed jobs: agents that keep them running, on this machine and on others, and what changes them."""

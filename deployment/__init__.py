"""Deployed jobs: an agent that keeps jobs running on this machine, and the commands that change them."""

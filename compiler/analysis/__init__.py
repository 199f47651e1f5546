"""Analyses of logical plans: properties that rules, checks and messages use."""

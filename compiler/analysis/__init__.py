"""Analyses of logical plans: facts that rules, checks and messages ask for."""

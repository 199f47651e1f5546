"""Verifiers of plans and graphs, run between passes under FSQL_VERIFY=1 and in all tests."""

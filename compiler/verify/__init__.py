"""Verifiers: what is legal at each stage, checked between passes and in all tests."""

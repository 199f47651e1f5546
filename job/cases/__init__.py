"""Cases: tests that users write for their scripts."""

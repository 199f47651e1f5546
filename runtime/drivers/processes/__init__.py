"""The driver for real processes: workers, their coordinator, and the launcher that keeps them running."""

"""The driver on processes: workers, their coordinator, and the launcher that keeps them running."""

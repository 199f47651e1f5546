"""The coordinator: gathers workers, leads them through epochs, and releases results under its lease."""

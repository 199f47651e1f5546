"""Kernels that keep the rows of a partition in an order: ROW_NUMBER, RANK, DENSE_RANK, top-N."""

"""The kernels of joins: of append-only inputs (`equi_join`), and of updating ones (`updates`)."""

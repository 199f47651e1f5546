"""`fsql shell`: statements typed one after the other, with the tables and views of those before."""

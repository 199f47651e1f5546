"""`fsql shell`: statements that are typed one after the other, and share tables and views."""

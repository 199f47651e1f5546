"""Drivers run the dataflow: they step its parts and carry the messages between them."""

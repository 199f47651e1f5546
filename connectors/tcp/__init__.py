"""Connector `tcp`: sends rows to a consumer over TCP; both ends of the protocol."""

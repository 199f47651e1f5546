"""Connector `http`: rows in the requests that an address receives, and rows that are sent in requests."""

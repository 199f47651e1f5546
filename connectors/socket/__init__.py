"""Connector `socket`: lines that come by connections."""

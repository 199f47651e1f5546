"""Connector `tcp`: a consumer that is reached by TCP; its protocol, both ends."""

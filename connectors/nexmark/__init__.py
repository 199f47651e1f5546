"""Connector `nexmark`: the auctions of the Nexmark benchmark."""

"""Connector `nexmark`: the events of the Nexmark benchmark."""

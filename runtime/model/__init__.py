"""The graph executed literally, item by item, as the papers describe it."""

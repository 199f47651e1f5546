"""What is durable of the state of folds: stores of bytes, records in them, snapshots made of records."""

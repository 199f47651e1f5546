"""What nodes agree on: who leads, which epoch it is, which snapshot is the newest."""

"""What nodes agree on: the leader, the epoch, the newest snapshot."""

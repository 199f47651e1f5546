"""The state of one aggregate call for every slot: a contract, and a module for each way to keep it."""

"""What every way into the network needs."""

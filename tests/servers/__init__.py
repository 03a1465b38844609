"""Stand-ins that speak real wire formats over real sockets."""

"""Two boards: the ping-pong of one board with another, over a switch."""

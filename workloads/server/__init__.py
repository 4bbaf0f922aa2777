"""Server: the ping-pong with the board as server and the PC as its client."""

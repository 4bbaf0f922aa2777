"""WebSocket: how fast a board as server echoes the PC's messages."""

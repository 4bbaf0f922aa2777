"""WebSocket: how fast a board as client has its messages echoed."""

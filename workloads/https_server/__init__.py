"""HTTPS, the board as server: how long its handshake takes with each kind of key, and a page after it."""

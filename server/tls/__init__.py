"""The PC's side of TLS, without I/O: a peer decrypts received bytes and encrypts the answers."""

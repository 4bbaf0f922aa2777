"""The PC's side of TLS, without I/O: a peer decrypts what comes and encrypts what the conversation answers."""

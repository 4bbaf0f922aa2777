"""HTTPS: how long a board takes to fetch a page from a server by its usual library, with TLS and without."""

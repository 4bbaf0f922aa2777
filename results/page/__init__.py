"""A run as one self-contained page of HTML: no network, dark and light, for phones, keyboards and screen readers."""

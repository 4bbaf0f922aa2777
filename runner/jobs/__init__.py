"""Rows as jobs: each is measured by whichever process has time, here or on another machine, and is the same there."""

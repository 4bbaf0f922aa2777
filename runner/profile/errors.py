"""What keeps a profile from being made."""

from __future__ import annotations


class ProfileError(Exception):
    """One line that names the file or option, and what to do."""

"""What keeps a profile from being made."""

from __future__ import annotations

from portbench.errors import PortbenchError


class ProfileError(PortbenchError):
    """One line that names the file or option, and what to do."""

"""Take firmware images that you have into the user's cache."""

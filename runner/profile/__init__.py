"""Where a guest's cycles go, function by function."""

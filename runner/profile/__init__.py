"""A guest's cycles by function."""

"""One message of a row, decoded."""

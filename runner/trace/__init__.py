"""One exchange of a row, decoded."""

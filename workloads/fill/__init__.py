"""Fill: how fast a board fills a buffer between two writes, told from how long a transfer takes."""

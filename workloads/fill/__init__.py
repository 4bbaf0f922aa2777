"""Fill: how fast a board fills a buffer between two writes, from the times of transfers."""

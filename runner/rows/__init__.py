"""What pytest collects of portbench: rows."""

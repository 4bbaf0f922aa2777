"""Rows, statistics, storage and tables of measured runs; `runs/` and `latest.json` beside this file are its data."""

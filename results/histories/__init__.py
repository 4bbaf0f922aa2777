"""Figures of runs over firmware versions and over time."""

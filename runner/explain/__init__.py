"""Explanations of a row's time: its attribution, stored or measured now, and the gain of changes."""

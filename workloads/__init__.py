"""Workloads: what is measured, one folder each."""

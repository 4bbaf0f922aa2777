"""The pytest plugin that flashes, deploys, waits, runs and collects."""

"""The executor: rows are measured in this process, in many, on boards side by side, or on a Dask cluster."""

"""Many rows along axes: what each setting brings, and from where on it brings little."""

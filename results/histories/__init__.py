"""What runs measured over firmware versions and over time."""

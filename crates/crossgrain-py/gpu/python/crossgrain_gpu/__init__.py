"""The native half of the package crossgrain, with GPU support. crossgrain uses it if both have the same version."""

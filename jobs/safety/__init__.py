"""What job code imports."""

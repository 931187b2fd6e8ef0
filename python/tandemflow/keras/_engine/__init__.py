"""How models, layers and training work inside."""

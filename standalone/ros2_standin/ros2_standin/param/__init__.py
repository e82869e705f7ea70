"""Parameters of nodes."""

"""A VLA on another machine: server, client and what passes between them."""

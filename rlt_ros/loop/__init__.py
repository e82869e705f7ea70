"""What happens in time, as plain classes: used by the nodes and by the in-process fast path alike."""

"""The RL token: encoder, decoder and their training (Stage 1)."""

"""Whether a dataset is fit for Stage 1: findings with their places, figures and pictures."""

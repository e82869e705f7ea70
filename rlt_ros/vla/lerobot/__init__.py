"""Policies of LeRobot (pi0, pi0.5, SmolVLA) as VLA backends."""

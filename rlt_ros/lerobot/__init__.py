"""RL Token behind LeRobot's algorithm contract: joins `rl` and `token`, and is imported by neither."""

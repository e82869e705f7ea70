"""The operator's view in a browser: a page beside the robot, and who may open it."""

"""Command back-ends: what is sent to the arm's controller for a target pose of the tool. No ROS, no learning."""
